// Variance over axes.
#include "ops/shared/var.h"

namespace pel {
namespace {

Tensor var_body(const Op& op, const Tensor& self, Axes axes, const Scalar& correction, KeepDims keepdim) {
  return run_rows(op, {self}, {check_floating(self), axis_set(self, axes), keepdim}, {correction})[0];
}

}  // namespace

namespace ops {
OpDef define_var() {
  return variance_folds(rows_op<var_body>("var(Tensor self, int[] dim=[], *, Scalar correction=1, "
                                          "bool keepdim=False) -> Tensor"))
      .gives_value(second_value)
      .reference([](const RowData& in, const RowParams& params, int, std::size_t) {
        return variance_of(in[0], params[0]);
      })
      .vjp("self", "self dim correction keepdim", [](const Vjp& v) { return variance_gradient(v, v.grad()); })
      .samples(variance_samples);
}
}  // namespace ops

Tensor var(const Tensor& self, Axes axes, const Scalar& correction, KeepDims keepdim, Site site) {
  return call<"var", var_body>(site, self, axes, correction, keepdim);
}

}  // namespace pel
