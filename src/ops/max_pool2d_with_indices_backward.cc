// What flows back through max_pool2d: each gradient goes to the element that was the greatest.
#include "ops/family_pool.h"

namespace pel {
namespace {

Tensor max_pool2d_with_indices_backward_body(const Op& op, const Tensor& grad_output, const Tensor& self,
                                             Axes kernel_size, Axes stride, Axes padding, Axes dilation,
                                             CeilMode ceil_mode, const Tensor& indices) {
  const PoolWindow window(with_batch(self, 2), {kernel_size, stride, padding, dilation, ceil_mode});
  return run_pool_backward(op, grad_output, self, &indices, window.sizes, window.scalars);
}

}  // namespace

namespace ops {
OpDef define_max_pool2d_with_indices_backward() {
  return define_op<max_pool2d_with_indices_backward_body>(
             OpKind::Kernel,
             "max_pool2d_with_indices_backward(Tensor grad_output, Tensor self, int[] kernel_size, int[] "
             "stride, int[] padding, int[] dilation, bool ceil_mode, Tensor indices) -> Tensor")
      .dtypes(kFloating | DTypeSet{kI64});
}
}  // namespace ops

Tensor max_pool2d_with_indices_backward(const Tensor& grad_output, const Tensor& self, Axes kernel_size,
                                        Axes stride, Axes padding, Axes dilation, CeilMode ceil_mode,
                                        const Tensor& indices, Site site) {
  return call<"max_pool2d_with_indices_backward", max_pool2d_with_indices_backward_body>(
      site, grad_output, self, kernel_size, stride, padding, dilation, ceil_mode, indices);
}

}  // namespace pel
