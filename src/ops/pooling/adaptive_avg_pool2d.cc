// Means of windows such that the result has the sizes asked for, over two spatial axes.
#include "pellucid/ops/internal.h"

#include "ops/shared/pool.h"

namespace pel {
namespace {

Tensor adaptive_avg_pool2d_body(const Op& op, const Tensor& self, Dims output_size) {
  return run_adaptive_avg_pool(op, self, 2, output_size);
}

}  // namespace

namespace ops {
OpDef define_adaptive_avg_pool2d() {
  return define_op<adaptive_avg_pool2d_body>(OpKind::Kernel,
                                             "adaptive_avg_pool2d(Tensor self, Dim[] output_size) -> Tensor")
      .dtypes(kFloating)
      .vjp(
          "self", "",
          [](const Vjp& v) { return internal::adaptive_avg_pool2d_backward(v.grad(), stand_in_for_self(v)); })
      .samples([](Sampler& s) {
        using Numbers = std::vector<Dim>;
        return SampleCalls{{s({1, 2, 5, 3}), Numbers{2, 2}}, {s({2, 3, 4}), Numbers{1, 1}}};
      });
}
}  // namespace ops

Tensor adaptive_avg_pool2d(const Tensor& self, Dims output_size, Site site) {
  return call<"adaptive_avg_pool2d", adaptive_avg_pool2d_body>(site, self, output_size);
}

}  // namespace pel
