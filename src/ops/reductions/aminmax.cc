// Min and max over one axis or all.
#include "ops/shared/rows.h"
#include "ops/shared/vjp.h"

namespace pel {
namespace {

std::tuple<Tensor, Tensor> aminmax_body(const Op& op, const Tensor& self, std::optional<std::int64_t> axis,
                                        KeepDims keepdim) {
  const AxisSet reduced = axis_set(self, axis);
  check_not_empty(self, reduced, axis.has_value());
  const std::vector<Tensor> results = run_rows(op, {self}, {self.dtype(), reduced, keepdim});
  return {results[0], results[1]};
}

}  // namespace

namespace ops {
OpDef define_aminmax() {
  return rows_op<aminmax_body>(
             "aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor, Tensor)")
      .values_in(bool_as_u8)
      .fold(FoldKind::Min, the_element)
      .fold(FoldKind::Max, the_element)
      .gives_value(first_value)
      .gives_value(second_value)
      .refuses_empty()
      .exact()
      .reference([](const RowData& in, const RowParams&, int output, std::size_t) {
        return RowProgram::Wanted{output == 0 ? std::ranges::min(in[0]) : std::ranges::max(in[0]), 0};
      })
      .vjp("self", "self result0 result1 dim keepdim",
           [](const Vjp& v) {
             const auto axes = axes_of(v.get<std::optional<std::int64_t>>("dim"));
             const auto keepdim = v.get<KeepDims>("keepdim");
             return shared_by_equals(v.grad(0), v["self"], v["result0"], axes, keepdim) +
                    shared_by_equals(v.grad(1), v["self"], v["result1"], axes, keepdim);
           })
      .samples([](Sampler& s) {
        return SampleCalls{{s.apart({3, 4})}, {s.apart({3, 4}), Dim(-1)}, {s.apart({3, 4}), Dim(0), true}};
      });
}
}  // namespace ops

std::tuple<Tensor, Tensor> aminmax(const Tensor& self, std::optional<std::int64_t> axis, KeepDims keepdim,
                                   Site site) {
  return call<"aminmax", aminmax_body>(site, self, axis, keepdim);
}

}  // namespace pel
