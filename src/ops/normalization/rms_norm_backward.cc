// The gradients of rms_norm: one kernel for the rows, two for the weight.
#include "pellucid/ops/internal.h"
#include "pellucid/ops/normalization.h"

#include "ops/shared/rms.h"

namespace pel {
namespace {

enum Program : std::size_t { kPlain, kWeight, kScale, kParameters };

std::tuple<Tensor, Tensor> rms_norm_backward_body(const Op& op, const Tensor& grad, const Tensor& self,
                                                  Dims normalized_shape, const std::optional<Tensor>& weight,
                                                  std::optional<double> eps) {
  const DType compute = check_floating(self);
  const AxisSet reduced = normalized_axes(self, normalized_shape);
  const Scalar number = rms_eps(eps, self.dtype());
  std::vector<TensorRef> inputs = {grad, self};
  if (weight) inputs.emplace_back(*weight);
  const Tensor rows =
      run_rows(op, inputs, {compute, reduced, KeepDims::No, weight ? kWeight : kPlain}, {number})[0];
  const Tensor scale = run_rows(op, {self}, {compute, reduced, KeepDims::Yes, kScale}, {number})[0];
  const Tensor parameters = run_rows(
      op, {grad, self, scale}, {compute, other_axes(self, reduced), KeepDims::No, kParameters}, {number})[0];
  return {rows, parameters};
}

// Inputs: grad, self, weight if there is one.
Term weighted(const RowTerms& t) { return t.in.size() == 3 ? t.in[0] * t.in[2] : t.in[0]; }
Term normalized(const RowTerms& t) { return t.in[1] * t.values[0]; }

RowsDef row_program(RowsDef def) {
  return rms_fold(std::move(def), 1)
      .fold(
          FoldKind::Sum, [](const RowTerms& t) { return weighted(t) * normalized(t); }, mean_of_fold)
      .gives_row([](const RowTerms& t) { return (weighted(t) - normalized(t) * t.values[1]) * t.values[0]; });
}

RowProgram::Wanted row_reference(const RowData& in, const RowParams& params, int, std::size_t place) {
  const long double r = rstd_of(in[1], params[0]);
  const auto weighted_at = [&](std::size_t i) { return in.size() == 3 ? in[0][i] * in[2][i] : in[0][i]; };
  const auto count = static_cast<long double>(in[0].size());
  long double along = 0, size = 0;
  for (std::size_t i = 0; i < in[0].size(); ++i) {
    along += weighted_at(i) * in[1][i] * r / count;
    size += std::abs(weighted_at(i) * in[1][i] * r) / count;
  }
  const long double x = in[1][place] * r;
  return {(weighted_at(place) - x * along) * r, (std::abs(weighted_at(place)) + 2 * std::abs(x) * size) * r};
}

}  // namespace

namespace ops {
OpDef define_rms_norm_backward() {
  RowsDef def =
      rows_op<rms_norm_backward_body>(
          "rms_norm_backward(Tensor grad, Tensor self, Dim[] normalized_shape, Tensor? weight=None, "
          "float? eps=None) -> (Tensor, Tensor)")
          .inputs(2)
          .computes(kFloating)
          .values_in(value_type)
          .params({1e-5})
          .max_ulp(4)
          .refuses_empty()
          .domain(0.5, 2)
          .reference(row_reference);
  def = row_program(std::move(def));
  def = row_program(std::move(def).program("weight").inputs(3));
  def = rms_fold(std::move(def).program("scale").inputs(1), 0)
            .gives_value(first_value, value_type)
            .reference([](const RowData& in, const RowParams& params, int, std::size_t) {
              return RowProgram::Wanted{rstd_of(in[0], params[0]), 0};
            });
  return std::move(def)
      .program("parameters")
      .inputs(3, 2)
      .fold(FoldKind::Sum, [](const RowTerms& t) { return t.in[0] * t.in[1] * t.in[2]; })
      .gives_value(first_value)
      .takes_empty()
      .reference([](const RowData& in, const RowParams&, int, std::size_t) {
        long double sum = 0, size = 0;
        for (std::size_t i = 0; i < in[0].size(); ++i) {
          sum += in[0][i] * in[1][i] * in[2][i];
          size += std::abs(in[0][i] * in[1][i] * in[2][i]);
        }
        return RowProgram::Wanted{sum, size};
      })
      .vjp("grad self weight", "grad self normalized_shape weight eps",
           [](const Vjp& v) {
             const Tensor& self = v["self"];
             const auto axes = last_axes(v.get<Dims>("normalized_shape"));
             const double eps = rms_eps(v.get<std::optional<double>>("eps"), self.dtype());
             const Tensor rstd = rsqrt(mean(self * self, axes, KeepDims::Yes) + eps);
             const NormBackwardCall call{v["grad"], self,
                                         rstd,      v.get<std::optional<Tensor>>("weight").value_or(Tensor()),
                                         axes,      false};
             const NormBackwardCall to = call.gradients(v.grad(0), grad_or_none(v, 1), Tensor());
             const Tensor through_rstd = mean(to.rstd, axes, KeepDims::Yes) * rstd * rstd * rstd * self;
             return std::vector<Tensor>{to.grad, to.centred - through_rstd, to.weight};
           })
      .samples([](Sampler& s) {
        return SampleCalls{{s({2, 3}), s({2, 3}), std::vector<Dim>{3}},
                           {s({2, 2, 2}), s({2, 2, 2}), std::vector<Dim>{2, 2}, s({2, 2}), 0.1}};
      });
}
}  // namespace ops

namespace internal {
std::tuple<Tensor, Tensor> rms_norm_backward(const Tensor& grad, const Tensor& self, Dims normalized_shape,
                                             const std::optional<Tensor>& weight, std::optional<double> eps,
                                             Site site) {
  return call<"rms_norm_backward", rms_norm_backward_body>(site, grad, self, normalized_shape, weight, eps);
}
}  // namespace internal

}  // namespace pel
