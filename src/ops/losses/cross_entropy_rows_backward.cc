// softmax(x) (grad_log + grad_loss sum(p)) - grad_loss p, for p = (target (1 - smoothing) + smoothing /
// classes) weight: the gradient of cross_entropy_rows, with each row read once. Two more programs are for
// linear_cross_entropy, which has some columns of a row at a time.
#include "pellucid/ops/internal.h"

#include "ops/shared/loss.h"
#include "ops/shared/softmax.h"
#include "ops/shared/vjp.h"

namespace pel {
namespace {

enum Program : std::size_t { kPlain, kTarget, kWeightedTarget };

Tensor cross_entropy_rows_backward_body(const Op& op, const Tensor& grad_log,
                                        const std::optional<Tensor>& grad_loss, const Tensor& self,
                                        std::int64_t axis, const std::optional<Tensor>& target,
                                        const std::optional<Tensor>& weight, double label_smoothing) {
  RowsCall call{check_floating(self), axis_set(self, axis), KeepDims::No, kPlain};
  if (!grad_loss) return run_rows(op, {self, grad_log}, call)[0];
  std::vector<TensorRef> inputs = {self};
  const Tensor none = target ? Tensor() : full({}, 0, {self.dtype(), self.device()});
  inputs.emplace_back(target ? *target : none);
  if (weight) inputs.emplace_back(*weight);
  inputs.emplace_back(grad_log);
  inputs.emplace_back(*grad_loss);
  call.program = weight ? kWeightedTarget : kTarget;
  return run_rows(op, inputs, call, {label_smoothing})[0];
}

Term softmax_of(const RowTerms& t) { return exp(shifted(t)) * t.values[1]; }
RowsDef exponentials(RowsDef def) {
  return exponential_folds(std::move(def), [](const RowTerms& t) { return 1 / t.values[1]; });
}
// Inputs are logits, target, perhaps weights, and the two gradients.
RowsDef against_target(RowsDef def) {
  return exponentials(std::move(def))
      .fold(FoldKind::Sum, [](const RowTerms& t) { return loss_probability(t, t.in.size() > 4); })
      .gives_row([](const RowTerms& t) {
        const Term grad_log = t.in[t.in.size() - 2], grad_loss = t.in[t.in.size() - 1];
        return softmax_of(t) * (grad_log + grad_loss * t.values[2]) -
               grad_loss * loss_probability(t, t.in.size() > 4);
      });
}

// The max and 1 / sum(e^(x - max)) of rows.
RowsDef statistics(RowsDef def) {
  return exponentials(std::move(def).program("statistics").inputs(1).params({}))
      .gives_value(first_value, value_type)
      .gives_value(second_value, value_type)
      .reference([](const RowData& in, const RowParams&, int output, std::size_t) {
        return RowProgram::Wanted{output == 0 ? std::ranges::max(in[0]) : 1 / sum_of_exponentials(in[0]), 0};
      })
      .refuses_empty();
}
// softmax(x) grad_log of some columns of rows that have these statistics. Inputs are logits, grad_log, the
// max and 1 / sum.
RowsDef columns(RowsDef def) {
  return std::move(def)
      .program("columns")
      .inputs(4, 1)
      .takes_empty()
      .gives_row([](const RowTerms& t) { return exp_or_zero(t.in[0] - t.in[2]) * t.in[3] * t.in[1]; })
      .reference([](const RowData& in, const RowParams&, int, std::size_t place) {
        return RowProgram::Wanted{std::exp(in[0][place] - in[2][place]) * in[3][place] * in[1][place], 0};
      });
}

RowProgram::Wanted reference(const RowData& in, const RowParams& params, int, std::size_t place) {
  const long double softmax = std::exp(in[0][place] - std::ranges::max(in[0])) / sum_of_exponentials(in[0]);
  if (in.size() == 2) return {softmax * in[1][place], 0};
  const auto smoothing = static_cast<long double>(params[0]);
  const auto p = [&](std::size_t i) {
    return (in[1][i] * (1 - smoothing) + smoothing / static_cast<long double>(in[0].size())) *
           (in.size() > 4 ? in[2][i] : 1);
  };
  long double total = 0, size = 0;
  for (std::size_t i = 0; i < in[0].size(); ++i) {
    total += p(i);
    size += std::abs(p(i));
  }
  const long double grad_log = in[in.size() - 2][place], grad_loss = in[in.size() - 1][place];
  return {softmax * (grad_log + grad_loss * total) - grad_loss * p(place),
          2 * softmax * (std::abs(grad_log) + std::abs(grad_loss) * size) +
              2 * std::abs(grad_loss) * (std::abs(p(place)) + std::abs(in[1][place]))};
}

// Sums over the classes of the gradient, times softmax; what is asked of grad_log, and part of the others.
struct Second {
  explicit Second(const Vjp& v)
      : grad(v.grad()),
        dim(v.get<std::int64_t>("dim")),
        softmax(pel::softmax(v["self"], dim)),
        mean(sum(grad * softmax, {dim}, KeepDims::Yes)) {}
  Tensor grad;
  std::int64_t dim;
  Tensor softmax, mean;
};
Tensor probabilities(const Vjp& v) {
  const auto target = v.get<std::optional<Tensor>>("target"), weight = v.get<std::optional<Tensor>>("weight");
  const double smoothing = v.get<double>("label_smoothing");
  return loss_probability(v["self"], v.get<std::int64_t>("dim"), target, weight, smoothing);
}

}  // namespace

namespace ops {
OpDef define_cross_entropy_rows_backward() {
  RowsDef def =
      exponentials(rows_op<cross_entropy_rows_backward_body>(
                       "cross_entropy_rows_backward(Tensor grad_log, Tensor? grad_loss, Tensor self, "
                       "int dim, Tensor? target=None, Tensor? weight=None, float label_smoothing=0) "
                       "-> Tensor")
                       .inputs(2, 1)
                       .max_ulp(4)
                       .domain(-4, 4)
                       .reference(reference))
          .keeps()
          .gives_row([](const RowTerms& t) { return t.kept[0] * t.values[1] * t.in[1]; });
  def = against_target(std::move(def).program("target").inputs(4, 2).params({0.1}));
  def = against_target(std::move(def).program("weighted_target").inputs(5, 3));
  return columns(statistics(std::move(def)))
      .vjp("grad_log", "self dim", [](const Vjp& v) { return Second(v).mean; })
      .vjp("grad_loss", "self dim target weight label_smoothing",
           [](const Vjp& v) {
             const Second s(v);
             const Tensor p = probabilities(v);
             return sum((s.mean - s.grad) * p, {s.dim}, KeepDims::Yes);
           })
      .vjp("self", "grad_log grad_loss self dim target weight label_smoothing",
           [](const Vjp& v) {
             const Second s(v);
             Tensor factor = v["grad_log"];
             if (const auto grad_loss = v.get<std::optional<Tensor>>("grad_loss"))
               factor = factor +
                        *grad_loss * sum(expand(probabilities(v), v["self"].sizes()), {s.dim}, KeepDims::Yes);
             return factor * s.softmax * (s.grad - s.mean);
           })
      .vjp("target", "grad_loss self dim weight label_smoothing",
           [](const Vjp& v) {
             const Second s(v);
             const Tensor to_p = v["grad_loss"] * (s.mean - s.grad) * (1 - v.get<double>("label_smoothing"));
             const auto weight = v.get<std::optional<Tensor>>("weight");
             return weight ? to_p * *weight : to_p;
           })
      .vjp("weight", "grad_loss self dim target label_smoothing",
           [](const Vjp& v) {
             const Second s(v);
             return v["grad_loss"] * (s.mean - s.grad) *
                    loss_probability(v["self"], s.dim, v.get<std::optional<Tensor>>("target"), std::nullopt,
                                     v.get<double>("label_smoothing"));
           })
      .samples([](Sampler& s) {
        return SampleCalls{{s({3, 1}), Value(), s({3, 4}), Dim(1)},
                           {s({1, 4}), s({1, 4}), s({3, 4}), Dim(0), s({3, 4}), Value(), 0.1},
                           {s({2, 1}), s({2, 1}), s({2, 3}), Dim(-1), s({2, 3}), s({3}), 0.2}};
      });
}
}  // namespace ops

namespace internal {
Tensor cross_entropy_rows_backward(const Tensor& grad_log, const std::optional<Tensor>& grad_loss,
                                   const Tensor& self, std::int64_t axis, const std::optional<Tensor>& target,
                                   const std::optional<Tensor>& weight, double label_smoothing, Site site) {
  return call<"cross_entropy_rows_backward", cross_entropy_rows_backward_body>(
      site, grad_log, grad_loss, self, axis, target, weight, label_smoothing);
}
}  // namespace internal

}  // namespace pel
