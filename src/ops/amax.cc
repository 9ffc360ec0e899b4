// Greatest element over axes; NaN where one is.
#include "ops/family_rows.h"

namespace pel {
namespace {

Tensor amax_body(const Op& op, const Tensor& self, Axes axes, KeepDims keep) {
  const AxisSet reduced = axis_set(self, axes);
  check_not_empty(self, reduced, !axes.empty());
  return run_rows(op, {self}, {self.dtype(), reduced, keep})[0];
}

}  // namespace

namespace ops {
OpDef define_amax() {
  return rows_op<amax_body>("amax(Tensor self, int[] dim=[], bool keepdim=False) -> Tensor")
      .values_in(bool_as_u8)
      .fold(FoldKind::Max, the_element)
      .gives_value(first_value)
      .refuses_empty()
      .exact()
      .reference([](const RowData& in, const RowParams&, int, std::size_t) {
        return RowProgram::Wanted{std::ranges::max(in[0]), 0};
      });
}
}  // namespace ops

Tensor amax(const Tensor& self, Axes axes, KeepDims keep, Site site) {
  return call<"amax", amax_body>(site, self, axes, keep);
}

}  // namespace pel
