// Variance and mean over axes.
#include "ops/shared/var.h"

namespace pel {
namespace {

std::tuple<Tensor, Tensor> var_mean_body(const Op& op, const Tensor& self, Axes axes,
                                         const Scalar& correction, KeepDims keepdim) {
  const std::vector<Tensor> results =
      run_rows(op, {self}, {check_floating(self), axis_set(self, axes), keepdim}, {correction});
  return {results[0], results[1]};
}

}  // namespace

namespace ops {
OpDef define_var_mean() {
  return variance_folds(rows_op<var_mean_body>("var_mean(Tensor self, int[] dim=[], *, Scalar correction=1, "
                                               "bool keepdim=False) -> (Tensor, Tensor)"))
      .gives_value(second_value)
      .gives_value(first_value)
      .reference([](const RowData& in, const RowParams& params, int output, std::size_t) {
        if (output == 0) return variance_of(in[0], params[0]);
        const auto count = static_cast<long double>(in[0].size());
        return RowProgram::Wanted{sum_of(in[0]) / count, sum_of_sizes(in[0]) / count};
      })
      .vjp("self", "self dim correction keepdim",
           [](const Vjp& v) {
             const auto keepdim = v.get<KeepDims>("keepdim");
             return variance_gradient(v, v.grad(0)) +
                    mean_gradient(v.grad(1), v.sizes("self"), v.get<Axes>("dim"), keepdim);
           })
      .samples(variance_samples);
}
}  // namespace ops

std::tuple<Tensor, Tensor> var_mean(const Tensor& self, Axes axes, const Scalar& correction, KeepDims keepdim,
                                    Site site) {
  return call<"var_mean", var_mean_body>(site, self, axes, correction, keepdim);
}

}  // namespace pel
