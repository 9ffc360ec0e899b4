// Means of windows such that the result has the sizes asked for, over three spatial axes.
#include "pellucid/ops.h"

#include "ops/shared/pool.h"

namespace pel {
namespace {

Tensor adaptive_avg_pool3d_body(const Op& op, const Tensor& self, Dims output_size) {
  return run_adaptive_avg_pool(op, self, 3, output_size);
}

}  // namespace

namespace ops {
OpDef define_adaptive_avg_pool3d() {
  return define_op<adaptive_avg_pool3d_body>(OpKind::Kernel,
                                             "adaptive_avg_pool3d(Tensor self, Dim[] output_size) -> Tensor")
      .dtypes(kFloating)
      .vjp("self", "output_size",
           [](const Vjp& v) {
             // As of avg_pool3d: means along one axis after another.
             const Dims sizes = v.sizes("self"), given = v.get<Dims>("output_size");
             std::vector<Tensor> matrices;
             for (std::size_t i = 0; i < 3; ++i) {
               const Tensor unit =
                   eye(sizes[sizes.size() - 3 + i], std::nullopt, {v.grad().dtype(), v.grad().device()});
               matrices.push_back(adaptive_avg_pool1d(unit, {given[i]}).t());
             }
             return along_last_axes(v.grad(), matrices);
           })
      .samples([](Sampler& s) {
        using Numbers = std::vector<Dim>;
        return SampleCalls{{s({1, 1, 3, 4, 3}), Numbers{2, 3, 1}}, {s({2, 2, 3, 2}), Numbers{2, 2, 2}}};
      });
}
}  // namespace ops

Tensor adaptive_avg_pool3d(const Tensor& self, Dims output_size, Site site) {
  return call<"adaptive_avg_pool3d", adaptive_avg_pool3d_body>(site, self, output_size);
}

}  // namespace pel
