// Index of the first least element along one axis, or of the flattened tensor.
#include "ops/family_rows.h"

namespace pel {
namespace {

Tensor argmin_body(const Op& op, const Tensor& self, std::optional<std::int64_t> axis, KeepDims keep) {
  const AxisSet reduced = axis_set(self, axis);
  check_not_empty(self, reduced, true);
  return run_rows(op, {self}, {self.dtype(), reduced, keep})[0];
}

}  // namespace

namespace ops {
OpDef define_argmin() {
  return rows_op<argmin_body>("argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor")
      .values_in(bool_as_u8)
      .fold(FoldKind::Min, the_element)
      .gives_index()
      .refuses_empty()
      .exact()
      .reference([](const RowData& in, const RowParams&, int, std::size_t) {
        return RowProgram::Wanted{static_cast<long double>(std::ranges::min_element(in[0]) - in[0].begin()),
                                  0};
      });
}
}  // namespace ops

Tensor argmin(const Tensor& self, std::optional<std::int64_t> axis, KeepDims keep, Site site) {
  return call<"argmin", argmin_body>(site, self, axis, keep);
}

}  // namespace pel
