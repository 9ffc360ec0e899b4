// The max of each window over one spatial axis: that of two, one of which has size 1.
#include "pellucid/ops.h"

#include "ops/shared/pool.h"

namespace pel {
namespace {

Tensor max_pool1d_body(const Tensor& self, Ints kernel_size, Ints stride, Ints padding, Ints dilation,
                       CeilMode ceil_mode) {
  PEL_CHECK(self.dim() == 2 || self.dim() == 3, ShapeError,
            "the input is [channels, length], perhaps with a batch; {} has {} axes", describe(self),
            self.dim());
  const std::int64_t kernel = per_axis("kernel_size", kernel_size, 1, 1)[0];
  const std::int64_t step = stride.empty() ? kernel : per_axis("stride", stride, 1, 1)[0];
  return max_pool2d(self.unsqueeze(-2), {1, kernel}, {1, step}, {0, per_axis("padding", padding, 1, 0)[0]},
                    {1, per_axis("dilation", dilation, 1, 1)[0]}, ceil_mode)
      .squeeze({-2});
}

}  // namespace

namespace ops {
OpDef define_max_pool1d() {
  return define_op<max_pool1d_body>(OpKind::Composite,
                                    "max_pool1d(Tensor self, int[] kernel_size, int[] stride=[], int[] "
                                    "padding=[0], int[] dilation=[1], bool ceil_mode=False) -> Tensor")
      .samples([](Sampler& s) {
        return SampleCalls{{s.apart({2, 7}), std::vector<Dim>{3}, std::vector<Dim>{2}, std::vector<Dim>{1}}};
      });
}
}  // namespace ops

Tensor max_pool1d(const Tensor& self, Ints kernel_size, Ints stride, Ints padding, Ints dilation,
                  CeilMode ceil_mode, Site site) {
  return call<"max_pool1d", max_pool1d_body>(site, self, kernel_size, stride, padding, dilation, ceil_mode);
}

}  // namespace pel
