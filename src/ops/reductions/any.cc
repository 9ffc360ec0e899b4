// Whether any of the elements over axes is not 0.
#include "ops/shared/rows.h"

namespace pel {
namespace {

Tensor any_body(const Op& op, const Tensor& self, Axes axes, KeepDims keepdim) {
  return run_rows(op, {self}, {self.dtype(), axis_set(self, axes), keepdim})[0];
}

}  // namespace

namespace ops {
OpDef define_any() {
  return rows_op<any_body>("any(Tensor self, int[] dim=[], bool keepdim=False) -> Tensor")
      .values_in(always_bool)
      .elements_as_stored()
      .fold(FoldKind::Or, [](const RowTerms& t) { return cast(t.in[0], kBool); })
      .gives_value(first_value, [](DType dtype) { return dtype == kU8 ? kU8 : kBool; })
      .exact()
      .reference([](const RowData& in, const RowParams&, int, std::size_t) {
        const bool holds = std::ranges::any_of(in[0], [](long double x) { return x != 0; });
        return RowProgram::Wanted{static_cast<long double>(holds), 0};
      })
      .not_differentiable();
}
}  // namespace ops

Tensor any(const Tensor& self, Axes axes, KeepDims keepdim, Site site) {
  return call<"any", any_body>(site, self, axes, keepdim);
}

}  // namespace pel
