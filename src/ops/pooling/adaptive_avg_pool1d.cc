// Means of windows such that the result has the size asked for: those over two axes, one of which has size 1.
#include "pellucid/ops.h"

#include "ops/shared/pool.h"

namespace pel {
namespace {

Tensor adaptive_avg_pool1d_body(const Tensor& self, Dims output_size) {
  PEL_CHECK(self.dim() == 2 || self.dim() == 3, ShapeError,
            "the input is [channels, length], perhaps with a batch; {} has {} axes", describe(self),
            self.dim());
  PEL_CHECK(output_size.size() == 1, ValueError, "output_size has 1 number, not {}", output_size.size());
  return adaptive_avg_pool2d(self.unsqueeze(-2), {1, output_size[0]}).squeeze({-2});
}

}  // namespace

namespace ops {
OpDef define_adaptive_avg_pool1d() {
  return define_op<adaptive_avg_pool1d_body>(OpKind::Composite,
                                             "adaptive_avg_pool1d(Tensor self, Dim[] output_size) -> Tensor")
      .samples([](Sampler& s) { return SampleCalls{{s({2, 7}), std::vector<Dim>{3}}}; });
}
}  // namespace ops

Tensor adaptive_avg_pool1d(const Tensor& self, Dims output_size, Site site) {
  return call<"adaptive_avg_pool1d", adaptive_avg_pool1d_body>(site, self, output_size);
}

}  // namespace pel
