// Standard deviation over axes.
#include "ops/shared/var.h"

namespace pel {
namespace {

Tensor std_body(const Op& op, const Tensor& self, Axes axes, const Scalar& correction, KeepDims keepdim) {
  return run_rows(op, {self}, {check_floating(self), axis_set(self, axes), keepdim}, {correction})[0];
}

}  // namespace

namespace ops {
OpDef define_std() {
  return variance_folds(rows_op<std_body>("std(Tensor self, int[] dim=[], *, Scalar correction=1, "
                                          "bool keepdim=False) -> Tensor"))
      .gives_value([](const RowTerms& t) { return sqrt(t.values[1]); })
      .reference([](const RowData& in, const RowParams& params, int, std::size_t) {
        const RowProgram::Wanted variance = variance_of(in[0], params[0]);
        return RowProgram::Wanted{std::sqrt(variance.value), std::sqrt(variance.magnitude)};
      })
      .vjp("self", "self result dim correction keepdim",
           [](const Vjp& v) {
             const Tensor& result = v["result"];
             return variance_gradient(v, masked_fill(v.grad() / (result * 2), eq(result, 0), 0));
           })
      .samples(variance_samples);
}
}  // namespace ops

Tensor stddev(const Tensor& self, Axes axes, const Scalar& correction, KeepDims keepdim, Site site) {
  return call<"std", std_body>(site, self, axes, correction, keepdim);
}

}  // namespace pel
