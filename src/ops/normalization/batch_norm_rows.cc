// Each channel shifted and scaled by its own mean and variance, with both. Channels are axis 1.
#include "pellucid/ops/internal.h"
#include "pellucid/ops/normalization.h"

#include "ops/shared/batch_norm.h"

namespace pel {
namespace {

enum Program : std::size_t { kPlain, kAffine };

std::tuple<Tensor, Tensor, Tensor, Tensor> batch_norm_rows_body(const Op& op, const Tensor& self,
                                                                const std::optional<Tensor>& weight,
                                                                const std::optional<Tensor>& bias,
                                                                double eps) {
  check_channels(self);
  const RowsCall call{check_floating(self), other_axes(self, kChannels), KeepDims::No,
                      weight || bias ? kAffine : kPlain, Layout::Keep};
  std::vector<Tensor> results;
  if (call.program == kPlain) {
    results = run_rows(op, {self}, call, {eps});
  } else {
    const Affine affine(self, weight, bias);
    results = run_rows(op, {self, affine.weight, affine.bias}, call, {eps});
  }
  return {results[0], results[1], results[2], results[3]};
}

RowsDef batch_program(RowsDef def) {
  return std::move(def)
      .fold(FoldKind::Sum, the_element, mean_of_fold)
      .fold(FoldKind::Sum, squared_difference, mean_of_fold)
      .derives([](const RowTerms& t) { return 1 / sqrt(t.values[1] + t.numbers[0]); })
      .gives_row([](const RowTerms& t) { return normalized_row(t, t.values[0], t.values[2]); })
      .gives_value(first_value, value_type)
      .gives_value([](const RowTerms& t) { return t.values[2]; }, value_type)
      .gives_value(second_value, value_type);
}

RowProgram::Wanted reference(const RowData& in, const RowParams& params, int output, std::size_t place) {
  if (output < 3) return norm_reference(in, params, output, place);
  const long double mean = norm_reference(in, params, 1, 0).value;
  std::vector<long double> differences;
  for (const long double x : in[0]) differences.push_back(x - mean);
  return {mean_of_squares(differences), mean_of_squares(in[0]) / 16};
}

std::vector<Tensor> batch_norm_gradients(const Vjp& v) {
  const Tensor& self = v["self"];
  const std::int64_t rank = self.dim();
  const auto axes = axes_except_channels(rank);
  const auto weight = v.get<std::optional<Tensor>>("weight");
  const auto wide = [&](const Tensor& t) { return t.defined() ? along_channels(t, rank) : t; };
  const NormBackwardCall call{v.grad(0), self - wide(v["result1"]), wide(v["result2"]),
                              wide(weight.value_or(Tensor())), axes};
  const Dim count = count_along(self.sizes(), axes);
  const Tensor from_statistics =
      statistics_gradient(wide(grad_or_none(v, 1)), wide(grad_or_none(v, 2)), call.centred, call.rstd, count);
  Tensor to_self = sum_of_flows(call.self_gradient(), from_statistics);
  if (v.has_grad(3)) to_self = to_self + wide(v.grad(3)) * call.centred * 2 / Scalar(count);
  return {to_self, v.wants("weight") ? sum(call.grad * call.normalized(), axes) : Tensor(),
          v.wants("bias") ? sum(call.grad, axes) : Tensor()};
}

}  // namespace

namespace ops {
OpDef define_batch_norm_rows() {
  RowsDef def =
      batch_program(rows_op<batch_norm_rows_body>(
                        "batch_norm_rows(Tensor self, Tensor? weight=None, Tensor? bias=None, float "
                        "eps=1e-05) -> (Tensor, Tensor, Tensor, Tensor)")
                        .computes(kFloating)
                        .values_in(value_type)
                        .params({1e-5})
                        .max_ulp(8)
                        .refuses_empty()
                        .reference(reference));
  return batch_program(std::move(def).program("affine").inputs(3, 1))
      .vjp("self weight bias", "self weight result1 result2", batch_norm_gradients)
      .samples([](Sampler& s) {
        return SampleCalls{
            {s({3, 2})}, {s({2, 2, 3}), s({2}), s({2}), 0.1}, {s({2, 2, 1, 2}), Value(), s({2})}};
      });
}
}  // namespace ops

namespace internal {
std::tuple<Tensor, Tensor, Tensor, Tensor> batch_norm_rows(const Tensor& self,
                                                           const std::optional<Tensor>& weight,
                                                           const std::optional<Tensor>& bias, double eps,
                                                           Site site) {
  return call<"batch_norm_rows", batch_norm_rows_body>(site, self, weight, bias, eps);
}
}  // namespace internal

}  // namespace pel
