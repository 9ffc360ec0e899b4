// start, start + step, … before end.
#include <cmath>

#include "pellucid/ops.h"

#include "base/check.h"
#include "dispatch/op_table.h"
#include "tensor/make.h"

namespace pel {
namespace {

void check_direction(bool leads_there, const Scalar& start, const Scalar& end, const Scalar& step) {
  PEL_CHECK(leads_there, ValueError, "a step of {} does not lead from {} to {}", to_string(step),
            to_string(start), to_string(end));
}

Tensor arange_body(const Op& op, const Scalar& start, const Scalar& end, const Scalar& step,
                   std::optional<DType> dtype, std::optional<Device> device) {
  const bool whole = !start.is_float() && !end.is_float() && !step.is_float();
  const DType result_dtype = dtype.value_or(whole ? kI64 : kF32);
  Dim count;
  if (whole) {
    // In Dims: exact where a double would round, and a symbolic end stays one.
    const Dim by = step.dim();
    PEL_CHECK(by != 0, ValueError, "the step is zero");
    const bool up = by > 0;
    const Dim distance = up ? end.dim() - start.dim() : start.dim() - end.dim();
    check_direction(distance >= 0, start, end, step);
    count = (distance + (up ? by : -by) - 1) / (up ? by : -by);
  } else {
    const double first = start.to_double(), last = end.to_double(), by = step.to_double();
    PEL_CHECK(by != 0, ValueError, "the step is zero");
    PEL_CHECK(std::isfinite(first) && std::isfinite(last), ValueError, "the bounds {} and {} must be finite",
              to_string(start), to_string(end));
    check_direction(by > 0 ? last >= first : last <= first, start, end, step);
    const double exact = std::ceil((last - first) / by);
    PEL_CHECK(exact >= 0 && exact < 0x1p62, ValueError, "{} values are too many", exact);
    count = static_cast<std::int64_t>(exact);
  }
  Tensor result = make_dense({count}, result_dtype, device.value_or(kCpu));
  launch(op, {result}, {}, {start, step});
  return result;
}

}  // namespace

namespace ops {
OpDef define_arange() {
  return define_op<arange_body>(OpKind::Kernel,
                                "arange(Scalar start, Scalar end, Scalar step=1, *, DType? dtype=None, "
                                "Device? device=None) -> Tensor")
      .dtypes(kFloating | kIntegral);
}
}  // namespace ops

Tensor arange(const Scalar& start, const Scalar& end, const Scalar& step, TensorOptions options, Site site) {
  return call<"arange", arange_body>(site, start, end, step, options.dtype, options.device);
}
Tensor arange(const Scalar& end, TensorOptions options, Site site) {
  return arange(0, end, 1, options, site);
}

}  // namespace pel
