// The greatest element of each window over three spatial axes, and its place in the input.
#include "ops/family_pool.h"

namespace pel {
namespace {

std::tuple<Tensor, Tensor> max_pool3d_with_indices_body(const Op& op, const Tensor& self, Axes kernel_size,
                                                        Axes stride, Axes padding, Axes dilation,
                                                        CeilMode ceil_mode) {
  return run_max_pool(op, self, 3, {kernel_size, stride, padding, dilation, ceil_mode});
}

}  // namespace

namespace ops {
OpDef define_max_pool3d_with_indices() {
  return define_op<max_pool3d_with_indices_body>(
             OpKind::Kernel,
             "max_pool3d_with_indices(Tensor self, int[] kernel_size, int[] stride=[], int[] padding=[0], "
             "int[] dilation=[1], bool ceil_mode=False) -> (Tensor, Tensor)")
      .dtypes(kFloating | kIntegral);
}
}  // namespace ops

std::tuple<Tensor, Tensor> max_pool3d_with_indices(const Tensor& self, Axes kernel_size, Axes stride,
                                                   Axes padding, Axes dilation, CeilMode ceil_mode,
                                                   Site site) {
  return call<"max_pool3d_with_indices", max_pool3d_with_indices_body>(site, self, kernel_size, stride,
                                                                       padding, dilation, ceil_mode);
}

}  // namespace pel
