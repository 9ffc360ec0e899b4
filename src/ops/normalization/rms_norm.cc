// x / sqrt(mean(x^2) + eps) * weight over the last axes.
#include "pellucid/ops/internal.h"
#include "pellucid/ops/normalization.h"

#include "ops/shared/rms.h"

namespace pel {
namespace {

Tensor rms_norm_body(const Op& op, const Tensor& self, Dims normalized_shape,
                     const std::optional<Tensor>& weight, std::optional<double> eps) {
  RowsCall call{check_floating(self), normalized_axes(self, normalized_shape), KeepDims::No,
                weight ? std::size_t{1} : 0};
  std::vector<TensorRef> inputs = {self};
  if (weight) inputs.emplace_back(*weight);
  return run_rows(op, inputs, call, {rms_eps(eps, self.dtype())})[0];
}

}  // namespace

namespace ops {
OpDef define_rms_norm() {
  RowsDef def =
      rms_fold(rows_op<rms_norm_body>("rms_norm(Tensor self, Dim[] normalized_shape, Tensor? "
                                      "weight=None, float? eps=None) -> Tensor")
                   .computes(kFloating)
                   .values_in(value_type)
                   .params({1e-5})
                   .max_ulp(4)
                   .refuses_empty()
                   .reference([](const RowData& in, const RowParams& params, int, std::size_t place) {
                     const long double weight = in.size() > 1 ? in[1][place] : 1;
                     return RowProgram::Wanted{in[0][place] * rstd_of(in[0], params[0]) * weight, 0};
                   }),
               0)
          .gives_row([](const RowTerms& t) { return t.in[0] * t.values[0]; });
  return rms_fold(std::move(def).program("weight").inputs(2), 0)
      .gives_row([](const RowTerms& t) { return t.in[0] * t.values[0] * t.in[1]; })
      .vjp("self weight", "self normalized_shape weight eps",
           [](const Vjp& v) {
             const auto [to_self, to_weight] = internal::rms_norm_backward(
                 v.grad(), v["self"], v.get<Dims>("normalized_shape"), v.get<std::optional<Tensor>>("weight"),
                 v.get<std::optional<double>>("eps"));
             return std::vector<Tensor>{to_self, to_weight};
           })
      .samples([](Sampler& s) {
        return SampleCalls{{s({3, 4}), std::vector<Dim>{4}},
                           {s({2, 2, 3}), std::vector<Dim>{2, 3}, s({2, 3}), 0.1}};
      });
}
}  // namespace ops

Tensor rms_norm(const Tensor& self, Dims normalized_shape, const std::optional<Tensor>& weight,
                std::optional<double> eps, Site site) {
  return call<"rms_norm", rms_norm_body>(site, self, normalized_shape, weight, eps);
}

}  // namespace pel
