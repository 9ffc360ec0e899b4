// The max of windows for a result of `output_size`, and its index.
#include "ops/shared/pool.h"

namespace pel {
namespace {

std::tuple<Tensor, Tensor> adaptive_max_pool2d_body(const Op& op, const Tensor& self, Dims output_size) {
  const Tensor batched = with_batch(self, 2);
  const DimVector sizes = adaptive_sizes(batched, output_size);
  const Tensor values = make_spatial(sizes, batched, self.dtype()),
               indices = make_spatial(sizes, batched, kI64);
  launch(op, {values, indices}, {batched});
  return {as_batched(values, self), as_batched(indices, self)};
}

}  // namespace

namespace ops {
OpDef define_adaptive_max_pool2d() {
  return define_op<adaptive_max_pool2d_body>(
             OpKind::Kernel, "adaptive_max_pool2d(Tensor self, Dim[] output_size) -> (Tensor, Tensor)")
      .dtypes(kFloating | DTypeSet{kI64})
      .vjp("self", "result1", [](const Vjp& v) { return spread_by_indices(v, v["result1"], 2); })
      .samples([](Sampler& s) {
        return SampleCalls{{s.apart({1, 2, 5, 3}), std::vector<Dim>{2, 2}},
                           {s.apart({2, 4, 4}), std::vector<Dim>{3, 1}}};
      });
}
}  // namespace ops

std::tuple<Tensor, Tensor> adaptive_max_pool2d(const Tensor& self, Dims output_size, Site site) {
  return call<"adaptive_max_pool2d", adaptive_max_pool2d_body>(site, self, output_size);
}

}  // namespace pel
