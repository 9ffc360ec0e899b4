// The gradient of adaptive_avg_pool2d: that of each window, distributed evenly.
#include "pellucid/ops/internal.h"

#include "ops/shared/pool.h"

namespace pel {
namespace {

Tensor adaptive_avg_pool2d_backward_body(const Op& op, const Tensor& grad_output, const Tensor& self) {
  const Tensor grad = with_batch(grad_output, 2), batched = with_batch(self, 2);
  const DimVector wanted = adaptive_sizes(batched, {grad.sizes()[2], grad.sizes()[3]});
  return run_pool_backward(op, grad_output, self, nullptr, wanted, {});
}

}  // namespace

namespace ops {
OpDef define_adaptive_avg_pool2d_backward() {
  return define_op<adaptive_avg_pool2d_backward_body>(
             OpKind::Kernel, "adaptive_avg_pool2d_backward(Tensor grad_output, Tensor self) -> Tensor")
      .dtypes(kFloating)
      .vjp("grad_output", "",
           [](const Vjp& v) {
             const Dims sizes = v.sizes("grad_output");
             return adaptive_avg_pool2d(v.grad(), {sizes[sizes.size() - 2], sizes[sizes.size() - 1]});
           })
      .no_vjp("self")
      .samples([](Sampler& s) { return SampleCalls{{s({1, 2, 2, 2}), s({1, 2, 5, 3})}}; });
}
}  // namespace ops

namespace internal {
Tensor adaptive_avg_pool2d_backward(const Tensor& grad_output, const Tensor& self, Site site) {
  return call<"adaptive_avg_pool2d_backward", adaptive_avg_pool2d_backward_body>(site, grad_output, self);
}
}  // namespace internal

}  // namespace pel
