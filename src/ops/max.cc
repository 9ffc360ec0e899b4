// Greatest element along an axis, and its first index.
#include "ops/family_rows.h"

namespace pel {
namespace {

std::tuple<Tensor, Tensor> max_body(const Op& op, const Tensor& self, std::int64_t axis, KeepDims keep) {
  const AxisSet reduced = axis_set(self, axis);
  check_not_empty(self, reduced, true);
  const std::vector<Tensor> results = run_rows(op, {self}, {self.dtype(), reduced, keep});
  return {results[0], results[1]};
}

}  // namespace

namespace ops {
OpDef define_max() {
  return rows_op<max_body>("max(Tensor self, int dim, bool keepdim=False) -> (Tensor, Tensor)")
      .values_in(bool_as_u8)
      .fold(FoldKind::Max, the_element)
      .gives_value(first_value)
      .gives_index()
      .refuses_empty()
      .exact()
      .reference([](const RowData& in, const RowParams&, int output, std::size_t) {
        const auto found = std::ranges::max_element(in[0]);
        return RowProgram::Wanted{output == 0 ? *found : static_cast<long double>(found - in[0].begin()), 0};
      });
}
}  // namespace ops

std::tuple<Tensor, Tensor> max(const Tensor& self, std::int64_t axis, KeepDims keep, Site site) {
  return call<"max", max_body>(site, self, axis, keep);
}

}  // namespace pel
