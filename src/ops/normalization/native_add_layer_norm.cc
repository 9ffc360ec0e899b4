// native_layer_norm of self + other, and self + other. The sum is rounded as if it had been stored: the bits
// are those of the two ops.
#include "pellucid/ops/internal.h"
#include "pellucid/ops/normalization.h"

#include "base/check.h"
#include "ops/shared/norm.h"

namespace pel {
namespace {

std::tuple<Tensor, Tensor, Tensor, Tensor> native_add_layer_norm_body(
    const Op& op, const Tensor& self, const Tensor& other, Dims normalized_shape,
    const std::optional<Tensor>& weight, const std::optional<Tensor>& bias, double eps) {
  PEL_CHECK(self.dtype() == other.dtype(), DTypeError, "self is {} and other is {}; both must have one dtype",
            name(self.dtype()), name(other.dtype()));
  const std::vector<Tensor> results = run_norm(op, {self, other}, normalized_shape, weight, bias, eps);
  return {results[0], results[1], results[2], results[3]};
}

// The stored sum in place of the two terms.
RowTerms with_sum(const RowTerms& t) {
  RowTerms terms = t;
  terms.in.erase(terms.in.begin());
  terms.in[0] = rounded(t.in[0] + t.in[1], t.compute);
  return terms;
}

RowProgram::Wanted reference(const RowData& in, const RowParams& params, int output, std::size_t place) {
  RowData terms(in.begin() + 1, in.end());
  for (std::size_t i = 0; i < terms[0].size(); ++i) terms[0][i] += in[0][i];
  if (output == 3) return {terms[0][place], std::abs(in[0][place]) + std::abs(in[1][place])};
  RowProgram::Wanted wanted = norm_reference(terms, params, output, place);
  wanted.rounded = 2 * std::max(std::abs(wanted.value), wanted.magnitude);
  return wanted;
}

RowsDef program(RowsDef def) {
  return norm_program(std::move(def), with_sum).reference(reference).gives_row([](const RowTerms& t) {
    return t.in[0] + t.in[1];
  });
}

}  // namespace

namespace ops {
OpDef define_native_add_layer_norm() {
  RowsDef def =
      program(rows_op<native_add_layer_norm_body>(
                  "native_add_layer_norm(Tensor self, Tensor other, Dim[] normalized_shape, Tensor? "
                  "weight=None, Tensor? bias=None, float eps=1e-05) -> (Tensor, Tensor, Tensor, "
                  "Tensor)")
                  .inputs(2));
  def = program(std::move(def).program("weight").inputs(3));
  return program(std::move(def).program("affine").inputs(4))
      .vjp("self other weight bias", "normalized_shape weight result1 result2 result3",
           [](const Vjp& v) {
             const Dims shape = v.get<Dims>("normalized_shape");
             const Tensor &mean = v["result1"], &rstd = v["result2"], &sum = v["result3"];
             Tensor to_sum, to_weight, to_bias;
             if (v.has_grad(0)) {
               std::tie(to_sum, to_weight, to_bias) = internal::native_layer_norm_backward(
                   v.grad(0), sum, shape, mean, rstd, v.get<std::optional<Tensor>>("weight"));
             }
             if (v.has_grad(1) || v.has_grad(2)) {
               to_sum = sum_of_flows(to_sum, statistics_gradient(grad_or_none(v, 1), grad_or_none(v, 2),
                                                                 sum - mean, rstd, count_along(shape, {})));
             }
             if (v.has_grad(3)) to_sum = sum_of_flows(to_sum, v.grad(3));
             return std::vector<Tensor>{to_sum, to_sum, to_weight, to_bias};
           })
      .samples([](Sampler& s) {
        return SampleCalls{{s({3, 4}), s({3, 4}), std::vector<Dim>{4}},
                           {s({2, 2, 3}), s({2, 2, 3}), std::vector<Dim>{2, 3}, s({2, 3}), s({2, 3}), 0.1},
                           {s({2, 4}), s({2, 4}), std::vector<Dim>{4}, s({4})}};
      });
}
}  // namespace ops

namespace internal {
std::tuple<Tensor, Tensor, Tensor, Tensor> native_add_layer_norm(const Tensor& self, const Tensor& other,
                                                                 Dims normalized_shape,
                                                                 const std::optional<Tensor>& weight,
                                                                 const std::optional<Tensor>& bias,
                                                                 double eps, Site site) {
  return call<"native_add_layer_norm", native_add_layer_norm_body>(site, self, other, normalized_shape,
                                                                   weight, bias, eps);
}
}  // namespace internal

}  // namespace pel
