// The gradient of avg_pool2d: that of each window, distributed evenly.
#include "pellucid/ops/internal.h"

#include "ops/shared/pool.h"

namespace pel {
namespace {

Tensor avg_pool2d_backward_body(const Op& op, const Tensor& grad_output, const Tensor& self, Ints kernel_size,
                                Ints stride, Ints padding, CeilMode ceil_mode,
                                CountIncludePad count_include_pad,
                                std::optional<std::int64_t> divisor_override) {
  PoolWindow window(with_batch(self, 2), {kernel_size, stride, padding, {1}, ceil_mode});
  AverageNumbers{count_include_pad, divisor_override}.append_to(window.scalars);
  return run_pool_backward(op, grad_output, self, nullptr, window.sizes, window.scalars);
}

}  // namespace

namespace ops {
OpDef define_avg_pool2d_backward() {
  return define_op<avg_pool2d_backward_body>(
             OpKind::Kernel,
             "avg_pool2d_backward(Tensor grad_output, Tensor self, int[] kernel_size, int[] stride, int[] "
             "padding, bool ceil_mode, bool count_include_pad, int? divisor_override=None) -> Tensor")
      .dtypes(kFloating)
      .vjp("grad_output", "kernel_size stride padding ceil_mode count_include_pad divisor_override",
           [](const Vjp& v) {
             return avg_pool2d(v.grad(), v.get<Ints>("kernel_size"), v.get<Ints>("stride"),
                               v.get<Ints>("padding"), v.get<CeilMode>("ceil_mode"),
                               v.get<CountIncludePad>("count_include_pad"),
                               v.get<std::optional<std::int64_t>>("divisor_override"));
           })
      .no_vjp("self")
      .samples([](Sampler& s) {
        using Numbers = std::vector<Dim>;
        return SampleCalls{{s({1, 2, 2, 2}), s({1, 2, 4, 4}), Numbers{2}, Numbers{}, Numbers{0}, false, true},
                           {s({1, 3, 3}), s({1, 4, 4}), Numbers{3}, Numbers{2}, Numbers{1}, true, false}};
      });
}
}  // namespace ops

namespace internal {
Tensor avg_pool2d_backward(const Tensor& grad_output, const Tensor& self, Ints kernel_size, Ints stride,
                           Ints padding, CeilMode ceil_mode, CountIncludePad count_include_pad,
                           std::optional<std::int64_t> divisor_override, Site site) {
  return call<"avg_pool2d_backward", avg_pool2d_backward_body>(
      site, grad_output, self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override);
}
}  // namespace internal

}  // namespace pel
