// The max of each window over two spatial axes.
#include "ops/shared/pool.h"

namespace pel {
namespace {

Tensor max_pool2d_body(const Tensor& self, Ints kernel_size, Ints stride, Ints padding, Ints dilation,
                       CeilMode ceil_mode) {
  return std::get<0>(max_pool2d_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode));
}

}  // namespace

namespace ops {
OpDef define_max_pool2d() {
  return define_op<max_pool2d_body>(OpKind::Composite,
                                    "max_pool2d(Tensor self, int[] kernel_size, int[] stride=[], int[] "
                                    "padding=[0], int[] dilation=[1], bool ceil_mode=False) -> Tensor")
      .samples([](Sampler& s) {
        return SampleCalls{{s.apart({1, 2, 4, 3}), std::vector<Dim>{2}, std::vector<Dim>{1}}};
      });
}
}  // namespace ops

Tensor max_pool2d(const Tensor& self, Ints kernel_size, Ints stride, Ints padding, Ints dilation,
                  CeilMode ceil_mode, Site site) {
  return call<"max_pool2d", max_pool2d_body>(site, self, kernel_size, stride, padding, dilation, ceil_mode);
}

}  // namespace pel
