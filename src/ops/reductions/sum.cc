// Sum over axes. The result of integers and bool is i64 unless a dtype is passed.
#include "ops/shared/operands.h"
#include "ops/shared/rows.h"
#include "ops/shared/vjp.h"

namespace pel {
namespace {

Tensor sum_body(const Op& op, const Tensor& self, Axes axes, KeepDims keepdim, std::optional<DType> dtype) {
  const RowsCall call = {dtype.value_or(self.dtype()), axis_set(self, axes), keepdim};
  const Tensor result = run_rows(op, {self}, call)[0];
  return dtype ? converted(result, *dtype) : result;  // i64 for integers
}

}  // namespace

namespace ops {
OpDef define_sum() {
  return rows_op<sum_body>(
             "sum(Tensor self, int[] dim=[], bool keepdim=False, *, DType? dtype=None) -> Tensor")
      .values_in(float_or_i64)
      .fold(FoldKind::Sum, the_element)
      .gives_value(first_value, [](DType dtype) { return is_floating(dtype) ? dtype : kI64; })
      .reference([](const RowData& in, const RowParams&, int, std::size_t) {
        return RowProgram::Wanted{sum_of(in[0]), sum_of_sizes(in[0])};
      })
      .vjp("self", "dim keepdim",
           [](const Vjp& v) {
             const Tensor kept =
                 with_axes_kept(v.grad(), v.sizes("self"), v.get<Axes>("dim"), v.get<KeepDims>("keepdim"));
             return expand(kept, v.sizes("self"));
           })
      .samples([](Sampler& s) {
        return SampleCalls{{s({2, 3, 4})},
                           {s({2, 3, 4}), std::vector<Dim>{0, -1}, false},
                           {s({2, 3, 4}), std::vector<Dim>{1}, true}};
      });
}
}  // namespace ops

Tensor sum(const Tensor& self, Axes axes, KeepDims keepdim, std::optional<DType> dtype, Site site) {
  return call<"sum", sum_body>(site, self, axes, keepdim, dtype);
}

}  // namespace pel
