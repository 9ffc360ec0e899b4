// Mean over axes. Integers need a dtype.
#include "base/check.h"
#include "ops/shared/rows.h"
#include "ops/shared/vjp.h"

namespace pel {
namespace {

Tensor mean_body(const Op& op, const Tensor& self, Axes axes, KeepDims keepdim, std::optional<DType> dtype) {
  const DType compute = dtype ? *dtype : check_floating(self);
  return run_rows(op, {self}, {compute, axis_set(self, axes), keepdim})[0];
}

}  // namespace

namespace ops {
OpDef define_mean() {
  return rows_op<mean_body>(
             "mean(Tensor self, int[] dim=[], bool keepdim=False, *, DType? dtype=None) -> Tensor")
      .computes(kFloating)
      .values_in(value_type)
      .fold(FoldKind::Sum, the_element, mean_of_fold)
      .gives_value(first_value)
      .reference([](const RowData& in, const RowParams&, int, std::size_t) {
        const auto count = static_cast<long double>(in[0].size());
        return RowProgram::Wanted{sum_of(in[0]) / count, sum_of_sizes(in[0]) / count};
      })
      .vjp("self", "dim keepdim",
           [](const Vjp& v) {
             return mean_gradient(v.grad(), v.sizes("self"), v.get<Axes>("dim"), v.get<KeepDims>("keepdim"));
           })
      .samples([](Sampler& s) {
        return SampleCalls{{s({2, 3, 2})},
                           {s({2, 3, 2}), std::vector<Dim>{0, -1}},
                           {s({2, 3, 2}), std::vector<Dim>{1}, true}};
      });
}
}  // namespace ops

Tensor mean(const Tensor& self, Axes axes, KeepDims keepdim, std::optional<DType> dtype, Site site) {
  return call<"mean", mean_body>(site, self, axes, keepdim, dtype);
}

}  // namespace pel
