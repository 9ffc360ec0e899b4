// The mean of each window over two spatial axes.
#include "ops/family_pool.h"

namespace pel {
namespace {

Tensor avg_pool2d_body(const Op& op, const Tensor& self, Axes kernel_size, Axes stride, Axes padding,
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
      .dtypes(kFloating | DTypeSet{kI64});
}
}  // namespace ops

Tensor avg_pool2d(const Tensor& self, Axes kernel_size, Axes stride, Axes padding, CeilMode ceil_mode,
                  CountIncludePad count_include_pad, std::optional<std::int64_t> divisor_override,
                  Site site) {
  return call<"avg_pool2d", avg_pool2d_body>(site, self, kernel_size, stride, padding, ceil_mode,
                                             count_include_pad, divisor_override);
}

}  // namespace pel
