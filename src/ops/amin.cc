// Least element over axes; NaN where one is.
#include "ops/family_rows.h"

namespace pel {
namespace {

Tensor amin_body(const Op& op, const Tensor& self, Axes axes, KeepDims keep) {
  const AxisSet reduced = axis_set(self, axes);
  check_not_empty(self, reduced, !axes.empty());
  return run_rows(op, {self}, {self.dtype(), reduced, keep})[0];
}

}  // namespace

namespace ops {
OpDef define_amin() {
  return rows_op<amin_body>("amin(Tensor self, int[] dim=[], bool keepdim=False) -> Tensor")
      .values_in(bool_as_u8)
      .fold(FoldKind::Min, the_element)
      .gives_value(first_value)
      .refuses_empty()
      .exact()
      .reference([](const RowData& in, const RowParams&, int, std::size_t) {
        return RowProgram::Wanted{std::ranges::min(in[0]), 0};
      });
}
}  // namespace ops

Tensor amin(const Tensor& self, Axes axes, KeepDims keep, Site site) {
  return call<"amin", amin_body>(site, self, axes, keep);
}

}  // namespace pel
