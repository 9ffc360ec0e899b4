// Index of the first greatest element along one axis, or of the flattened tensor.
#include "ops/family_rows.h"

namespace pel {
namespace {

Tensor argmax_body(const Op& op, const Tensor& self, std::optional<std::int64_t> axis, KeepDims keep) {
  const AxisSet reduced = axis_set(self, axis);
  check_not_empty(self, reduced, true);
  return run_rows(op, {self}, {self.dtype(), reduced, keep})[0];
}

}  // namespace

namespace ops {
OpDef define_argmax() {
  return rows_op<argmax_body>("argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor")
      .values_in(bool_as_u8)
      .fold(FoldKind::Max, the_element)
      .gives_index()
      .refuses_empty()
      .exact()
      .reference([](const RowData& in, const RowParams&, int, std::size_t) {
        return RowProgram::Wanted{static_cast<long double>(std::ranges::max_element(in[0]) - in[0].begin()),
                                  0};
      });
}
}  // namespace ops

Tensor argmax(const Tensor& self, std::optional<std::int64_t> axis, KeepDims keep, Site site) {
  return call<"argmax", argmax_body>(site, self, axis, keep);
}

}  // namespace pel
