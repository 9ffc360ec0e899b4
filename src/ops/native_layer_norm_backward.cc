// What flows back through native_layer_norm: one kernel for the rows, one for weight and bias.
#include "pellucid/normalization.h"

#include "ops/family_norm.h"

namespace pel {
namespace {

enum Program : std::size_t { kPlain, kWeight, kParameters };

std::tuple<Tensor, Tensor, Tensor> native_layer_norm_backward_body(const Op& op, const Tensor& grad,
                                                                   const Tensor& self, Dims normalized_shape,
                                                                   const Tensor& mean, const Tensor& rstd,
                                                                   const std::optional<Tensor>& weight) {
  const DType compute = check_floating(self);
  const AxisSet reduced = normalized_axes(self, normalized_shape);
  std::vector<TensorRef> inputs = {grad, self};
  if (weight) inputs.emplace_back(*weight);
  inputs.emplace_back(mean);
  inputs.emplace_back(rstd);
  const Tensor rows = run_rows(op, inputs, {compute, reduced, KeepDims::No, weight ? kWeight : kPlain})[0];
  const std::vector<Tensor> parameters =
      run_rows(op, {grad, self, mean, rstd}, {compute, other_axes(self, reduced), KeepDims::No, kParameters});
  return {rows, parameters[0], parameters[1]};
}

// Inputs: grad, self, weight where there is one, mean, rstd.
Term normalized(const RowTerms& t) { return (t.in[1] - t.in[t.in.size() - 2]) * t.in.back(); }
Term weighted(const RowTerms& t) { return t.in.size() == 5 ? t.in[0] * t.in[2] : t.in[0]; }

RowsDef row_program(RowsDef def) {
  return std::move(def)
      .fold(
          FoldKind::Sum, [](const RowTerms& t) { return weighted(t) * normalized(t); }, mean_of_fold)
      .fold(FoldKind::Sum, weighted, mean_of_fold)
      .gives_row([](const RowTerms& t) {
        return (weighted(t) - normalized(t) * t.values[0] - t.values[1]) * t.in.back();
      });
}

long double weighted_at(const RowData& in, std::size_t i) {
  return in.size() == 5 ? in[0][i] * in[2][i] : in[0][i];
}
long double normalized_at(const RowData& in, std::size_t i) {
  return (in[1][i] - in[in.size() - 2][i]) * in.back()[i];
}
RowProgram::Wanted row_reference(const RowData& in, const RowParams&, int, std::size_t place) {
  const auto count = static_cast<long double>(in[0].size());
  long double along = 0, across = 0, along_size = 0, across_size = 0;
  for (std::size_t i = 0; i < in[0].size(); ++i) {
    along += weighted_at(in, i) * normalized_at(in, i) / count;
    along_size += std::abs(weighted_at(in, i) * normalized_at(in, i)) / count;
    across += weighted_at(in, i) / count;
    across_size += std::abs(weighted_at(in, i)) / count;
  }
  const long double w = weighted_at(in, place), x = normalized_at(in, place), r = in.back()[place];
  return {(w - x * along - across) * r,
          (std::abs(w) + 2 * std::abs(x) * along_size + across_size) * std::abs(r)};
}

}  // namespace

namespace ops {
OpDef define_native_layer_norm_backward() {
  RowsDef def =
      rows_op<native_layer_norm_backward_body>(
          "native_layer_norm_backward(Tensor grad, Tensor self, Dim[] normalized_shape, Tensor mean, "
          "Tensor rstd, Tensor? weight=None) -> (Tensor, Tensor, Tensor)")
          .inputs(4, 2)
          .computes(kFloating)
          .values_in(value_type)
          .max_ulp(4)
          .domain(0.5, 2)
          .reference(row_reference);
  def = row_program(std::move(def));
  def = row_program(std::move(def).program("weight").inputs(5, 3));
  return std::move(def)
      .program("parameters")
      .inputs(4, 2)
      .fold(FoldKind::Sum, [](const RowTerms& t) { return t.in[0] * normalized(t); })
      .fold(FoldKind::Sum, the_element)
      .gives_value(first_value)
      .gives_value(second_value)
      .reference([](const RowData& in, const RowParams&, int output, std::size_t) {
        if (output == 1) return RowProgram::Wanted{sum_of(in[0]), sum_of_sizes(in[0])};
        long double sum = 0, size = 0;
        for (std::size_t i = 0; i < in[0].size(); ++i) {
          sum += in[0][i] * normalized_at(in, i);
          size += std::abs(in[0][i]) * (std::abs(in[1][i]) + std::abs(in[2][i])) * std::abs(in[3][i]);
        }
        return RowProgram::Wanted{sum, size};
      });
}
}  // namespace ops

std::tuple<Tensor, Tensor, Tensor> native_layer_norm_backward(const Tensor& grad, const Tensor& self,
                                                              Dims normalized_shape, const Tensor& mean,
                                                              const Tensor& rstd,
                                                              const std::optional<Tensor>& weight,
                                                              Site site) {
  return call<"native_layer_norm_backward", native_layer_norm_backward_body>(
      site, grad, self, normalized_shape, mean, rstd, weight);
}

}  // namespace pel
