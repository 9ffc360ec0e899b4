// The mean of each window over two spatial axes.
#include "pellucid/ops/internal.h"

#include "ops/shared/pool.h"

namespace pel {
namespace {

Tensor avg_pool2d_body(const Op& op, const Tensor& self, Ints kernel_size, Ints stride, Ints padding,
                       CeilMode ceil_mode, CountIncludePad count_include_pad,
                       std::optional<std::int64_t> divisor_override) {
  return run_avg_pool(op, self, 2, {kernel_size, stride, padding, {1}, ceil_mode},
                      {count_include_pad, divisor_override});
}

}  // namespace

namespace ops {
OpDef define_avg_pool2d() {
  return define_op<avg_pool2d_body>(
             OpKind::Kernel,
             "avg_pool2d(Tensor self, int[] kernel_size, int[] stride=[], int[] padding=[0], bool "
             "ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor")
      .dtypes(kFloating | DTypeSet{kI64})
      .vjp("self", "kernel_size stride padding ceil_mode count_include_pad divisor_override",
           [](const Vjp& v) {
             return internal::avg_pool2d_backward(v.grad(), stand_in_for_self(v), v.get<Ints>("kernel_size"),
                                                  v.get<Ints>("stride"), v.get<Ints>("padding"),
                                                  v.get<CeilMode>("ceil_mode"),
                                                  v.get<CountIncludePad>("count_include_pad"),
                                                  v.get<std::optional<std::int64_t>>("divisor_override"));
           })
      .samples([](Sampler& s) {
        using Numbers = std::vector<Dim>;
        return SampleCalls{{s({1, 2, 4, 4}), Numbers{2}},
                           {s({2, 5, 4}), Numbers{3, 2}, Numbers{2, 1}, Numbers{1}, true, false},
                           {s({1, 1, 4, 4}), Numbers{3}, Numbers{2}, Numbers{1}, false, true, Dim(5)}};
      });
}
}  // namespace ops

Tensor avg_pool2d(const Tensor& self, Ints kernel_size, Ints stride, Ints padding, CeilMode ceil_mode,
                  CountIncludePad count_include_pad, std::optional<std::int64_t> divisor_override,
                  Site site) {
  return call<"avg_pool2d", avg_pool2d_body>(site, self, kernel_size, stride, padding, ceil_mode,
                                             count_include_pad, divisor_override);
}

}  // namespace pel
