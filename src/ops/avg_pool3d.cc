// The mean of each window over three spatial axes.
#include "ops/family_pool.h"

namespace pel {
namespace {

Tensor avg_pool3d_body(const Op& op, const Tensor& self, Axes kernel_size, Axes stride, Axes padding,
                       CeilMode ceil_mode, CountIncludePad count_include_pad,
                       std::optional<std::int64_t> divisor_override) {
  return run_avg_pool(op, self, 3, {kernel_size, stride, padding, {1}, ceil_mode},
                      {count_include_pad, divisor_override});
}

}  // namespace

namespace ops {
OpDef define_avg_pool3d() {
  return define_op<avg_pool3d_body>(
             OpKind::Kernel,
             "avg_pool3d(Tensor self, int[] kernel_size, int[] stride=[], int[] padding=[0], bool "
             "ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor")
      .dtypes(kFloating | DTypeSet{kI64});
}
}  // namespace ops

Tensor avg_pool3d(const Tensor& self, Axes kernel_size, Axes stride, Axes padding, CeilMode ceil_mode,
                  CountIncludePad count_include_pad, std::optional<std::int64_t> divisor_override,
                  Site site) {
  return call<"avg_pool3d", avg_pool3d_body>(site, self, kernel_size, stride, padding, ceil_mode,
                                             count_include_pad, divisor_override);
}

}  // namespace pel
