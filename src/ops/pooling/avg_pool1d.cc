// The mean of each window over one spatial axis: that of two, one of which has size 1.
#include "pellucid/ops.h"

#include "ops/shared/pool.h"

namespace pel {
namespace {

Tensor avg_pool1d_body(const Tensor& self, Ints kernel_size, Ints stride, Ints padding, CeilMode ceil_mode,
                       CountIncludePad count_include_pad) {
  PEL_CHECK(self.dim() == 2 || self.dim() == 3, ShapeError,
            "the input is [channels, length], perhaps with a batch; {} has {} axes", describe(self),
            self.dim());
  const std::int64_t kernel = per_axis("kernel_size", kernel_size, 1, 1)[0];
  const std::int64_t step = stride.empty() ? kernel : per_axis("stride", stride, 1, 1)[0];
  return avg_pool2d(self.unsqueeze(-2), {1, kernel}, {1, step}, {0, per_axis("padding", padding, 1, 0)[0]},
                    ceil_mode, count_include_pad)
      .squeeze({-2});
}

}  // namespace

namespace ops {
OpDef define_avg_pool1d() {
  return define_op<avg_pool1d_body>(OpKind::Composite,
                                    "avg_pool1d(Tensor self, int[] kernel_size, int[] stride=[], int[] "
                                    "padding=[0], bool ceil_mode=False, "
                                    "bool count_include_pad=True) -> Tensor")
      .samples([](Sampler& s) {
        return SampleCalls{
            {s({2, 7}), std::vector<Dim>{3}, std::vector<Dim>{2}, std::vector<Dim>{1}, true, false}};
      });
}
}  // namespace ops

Tensor avg_pool1d(const Tensor& self, Ints kernel_size, Ints stride, Ints padding, CeilMode ceil_mode,
                  CountIncludePad count_include_pad, Site site) {
  return call<"avg_pool1d", avg_pool1d_body>(site, self, kernel_size, stride, padding, ceil_mode,
                                             count_include_pad);
}

}  // namespace pel
