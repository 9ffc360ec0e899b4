// rms_norm(self + other), and self + other. The sum is rounded as if it had been stored: the bits are those
// of the two ops.
#include "pellucid/ops.h"
#include "pellucid/ops/internal.h"
#include "pellucid/ops/normalization.h"

#include "base/check.h"
#include "ops/shared/rms.h"

namespace pel {
namespace {

std::tuple<Tensor, Tensor> add_rms_norm_body(const Op& op, const Tensor& self, const Tensor& other,
                                             Dims normalized_shape, const std::optional<Tensor>& weight,
                                             std::optional<double> eps) {
  PEL_CHECK(self.dtype() == other.dtype(), DTypeError, "self is {} and other is {}; both must have one dtype",
            name(self.dtype()), name(other.dtype()));
  RowsCall call{check_floating(self), normalized_axes(self, normalized_shape), KeepDims::No,
                weight ? std::size_t{1} : 0};
  std::vector<TensorRef> inputs = {self, other};
  if (weight) inputs.emplace_back(*weight);
  const std::vector<Tensor> results = run_rows(op, inputs, call, {rms_eps(eps, self.dtype())});
  return {results[0], results[1]};
}

Term stored_sum(const RowTerms& t) { return rounded(t.in[0] + t.in[1], t.compute); }

RowProgram::Wanted reference(const RowData& in, const RowParams& params, int output, std::size_t place) {
  std::vector<long double> sum;
  for (std::size_t i = 0; i < in[0].size(); ++i) sum.push_back(in[0][i] + in[1][i]);
  const long double size = std::abs(in[0][place]) + std::abs(in[1][place]);
  if (output == 1) return {sum[place], size};
  const long double weight = in.size() > 2 ? in[2][place] : 1;
  const long double scale = rstd_of(sum, params[0]) * weight;
  return {sum[place] * scale, size * std::abs(scale)};
}

RowsDef program(RowsDef def) {
  return rms_fold(std::move(def), stored_sum)
      .half_ulp(3.02)  // a unit each for the sum, its scale and the result, and products of these
      .gives_row([](const RowTerms& t) {
        const Term normalized = stored_sum(t) * t.values[0];
        return t.in.size() > 2 ? normalized * t.in[2] : normalized;
      })
      .gives_row([](const RowTerms& t) { return t.in[0] + t.in[1]; });
}

}  // namespace

namespace ops {
OpDef define_add_rms_norm() {
  RowsDef def =
      program(rows_op<add_rms_norm_body>("add_rms_norm(Tensor self, Tensor other, Dim[] normalized_shape, "
                                         "Tensor? weight=None, float? eps=None) -> (Tensor, Tensor)")
                  .inputs(2)
                  .computes(kFloating)
                  .values_in(value_type)
                  .params({1e-5})
                  .max_ulp(4)
                  .refuses_empty()
                  .reference(reference));
  return program(std::move(def).program("weight").inputs(3))
      .vjp("self other weight", "normalized_shape weight eps result1",
           [](const Vjp& v) {
             Tensor to_sum, to_weight;
             if (v.has_grad(0)) {
               std::tie(to_sum, to_weight) = internal::rms_norm_backward(
                   v.grad(0), v["result1"], v.get<Dims>("normalized_shape"),
                   v.get<std::optional<Tensor>>("weight"), v.get<std::optional<double>>("eps"));
             }
             if (v.has_grad(1)) to_sum = sum_of_flows(to_sum, v.grad(1));
             return std::vector<Tensor>{to_sum, to_sum, to_weight};
           })
      .composition(
          [](const std::vector<Value>& args) {
            const Tensor sum = std::get<Tensor>(args[0]) + std::get<Tensor>(args[1]);
            const auto& shape = std::get<std::vector<Dim>>(args[2]);
            std::optional<Tensor> weight;
            if (const Tensor* given = args.size() > 3 ? std::get_if<Tensor>(&args[3]) : nullptr)
              weight = *given;
            return std::vector<Tensor>{rms_norm(sum, shape, weight), sum};
          },
          [](Sampler& s, Dims sizes) {
            const std::vector<Dim> last = {sizes[sizes.size() - 1]};
            return std::vector<Value>{s(sizes), s(sizes), last, s(last)};
          })
      .samples([](Sampler& s) {
        return SampleCalls{{s({3, 4}), s({3, 4}), std::vector<Dim>{4}},
                           {s({2, 2, 3}), s({2, 2, 3}), std::vector<Dim>{2, 3}, s({2, 3}), 0.1}};
      });
}
}  // namespace ops

std::tuple<Tensor, Tensor> add_rms_norm(const Tensor& self, const Tensor& other, Dims normalized_shape,
                                        const std::optional<Tensor>& weight, std::optional<double> eps,
                                        Site site) {
  return call<"add_rms_norm", add_rms_norm_body>(site, self, other, normalized_shape, weight, eps);
}

}  // namespace pel
