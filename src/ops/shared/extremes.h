// What amax and amin, argmax and argmin, max and min share.
#pragma once

#include "ops/shared/rows.h"
#include "ops/shared/vjp.h"

namespace pel {

inline Tensor extreme_body(const Op& op, const Tensor& self, Axes axes, KeepDims keepdim) {
  const AxisSet reduced = axis_set(self, axes);
  check_not_empty(self, reduced, !axes.empty());
  return run_rows(op, {self}, {self.dtype(), reduced, keepdim})[0];
}
inline Tensor extreme_index_body(const Op& op, const Tensor& self, std::optional<std::int64_t> axis,
                                 KeepDims keepdim) {
  const AxisSet reduced = axis_set(self, axis);
  check_not_empty(self, reduced, true);
  return run_rows(op, {self}, {self.dtype(), reduced, keepdim})[0];
}
inline std::tuple<Tensor, Tensor> extreme_and_index_body(const Op& op, const Tensor& self, std::int64_t axis,
                                                         KeepDims keepdim) {
  const AxisSet reduced = axis_set(self, axis);
  check_not_empty(self, reduced, true);
  const std::vector<Tensor> results = run_rows(op, {self}, {self.dtype(), reduced, keepdim});
  return {results[0], results[1]};
}

// amax and amin.
inline Tensor extreme_gradient(const Vjp& v) {
  return shared_by_equals(v.grad(), v["self"], v["result"], v.get<Axes>("dim"), v.get<KeepDims>("keepdim"));
}
inline SampleCalls extreme_samples(Sampler& s) {
  return {{s.apart({3, 4})},
          {s.apart({2, 3, 2}), std::vector<Dim>{0, -1}},
          {s.apart({3, 4}), std::vector<Dim>{1}, true}};
}
// max and min.
inline SampleCalls indexed_extreme_samples(Sampler& s) {
  return {{s.apart({3, 4}), Dim(1)}, {s.apart({3, 4}), Dim(-2), true}, {s({}), Dim(0)}};
}

enum class ExtremeGives : std::uint8_t { Value, Index, ValueAndIndex };
// `kind` is Max or Min.
inline RowsDef extreme(RowsDef def, FoldKind kind, ExtremeGives gives) {
  def = std::move(def).values_in(bool_as_u8).fold(kind, the_element);
  if (gives != ExtremeGives::Index) def = std::move(def).gives_value(first_value);
  if (gives != ExtremeGives::Value) def = std::move(def).gives_index();
  return std::move(def).refuses_empty().exact().reference(
      [kind, gives](const RowData& in, const RowParams&, int output, std::size_t) {
        const auto found =
            kind == FoldKind::Max ? std::ranges::max_element(in[0]) : std::ranges::min_element(in[0]);
        const bool is_value = gives != ExtremeGives::Index && output == 0;
        return RowProgram::Wanted{is_value ? *found : static_cast<long double>(found - in[0].begin()), 0};
      });
}

}  // namespace pel
