// How many elements are not 0.
#include "ops/shared/rows.h"

namespace pel {
namespace {

Tensor count_nonzero_body(const Op& op, const Tensor& self, Axes axes) {
  return run_rows(op, {self}, {self.dtype(), axis_set(self, axes)})[0];
}

}  // namespace

namespace ops {
OpDef define_count_nonzero() {
  return rows_op<count_nonzero_body>("count_nonzero(Tensor self, int[] dim=[]) -> Tensor")
      .values_in(always_i64)
      .elements_as_stored()
      .fold(FoldKind::Sum, [](const RowTerms& t) { return cast(cast(t.in[0], kBool), kI64); })
      .gives_value(first_value, always_i64)
      .reference([](const RowData& in, const RowParams&, int, std::size_t) {
        const auto count = std::ranges::count_if(in[0], [](long double x) { return x != 0; });
        return RowProgram::Wanted{static_cast<long double>(count), 0};
      })
      .not_differentiable();
}
}  // namespace ops

Tensor count_nonzero(const Tensor& self, Axes axes, Site site) {
  return call<"count_nonzero", count_nonzero_body>(site, self, axes);
}

}  // namespace pel
