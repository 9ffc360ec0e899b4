// The gradient of max_pool2d: that of each window goes to its max.
#include "pellucid/ops.h"
#include "pellucid/ops/indexing.h"
#include "pellucid/ops/internal.h"

#include "ops/shared/pool.h"

namespace pel {
namespace {

Tensor max_pool2d_with_indices_backward_body(const Op& op, const Tensor& grad_output, const Tensor& self,
                                             Ints kernel_size, Ints stride, Ints padding, Ints dilation,
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
      .dtypes(kFloating | DTypeSet{kI64})
      .vjp("grad_output", "indices",
           [](const Vjp& v) {
             const Tensor& indices = v["indices"];
             return gather(v.grad().flatten(-2), -1, indices.flatten(-2)).view(indices.sizes());
           })
      .no_vjp("self")
      .samples([](Sampler& s) {
        using Numbers = std::vector<Dim>;
        const Tensor indices = std::get<1>(max_pool2d_with_indices(s.apart({1, 2, 4, 4}), {2}));
        return SampleCalls{{s({1, 2, 2, 2}), s({1, 2, 4, 4}), Numbers{2}, Numbers{}, Numbers{0}, Numbers{1},
                            false, indices}};
      });
}
}  // namespace ops

namespace internal {
Tensor max_pool2d_with_indices_backward(const Tensor& grad_output, const Tensor& self, Ints kernel_size,
                                        Ints stride, Ints padding, Ints dilation, CeilMode ceil_mode,
                                        const Tensor& indices, Site site) {
  return call<"max_pool2d_with_indices_backward", max_pool2d_with_indices_backward_body>(
      site, grad_output, self, kernel_size, stride, padding, dilation, ceil_mode, indices);
}
}  // namespace internal

}  // namespace pel
