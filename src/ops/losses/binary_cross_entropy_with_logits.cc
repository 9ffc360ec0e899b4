// (1 - y) x + (1 + (pos_weight - 1) y) log(1 + e^-x), times weight: exp never sees a positive argument.
#include "pellucid/ops.h"

#include "base/check.h"
#include "ops/shared/loss.h"
#include "ops/shared/vjp.h"
#include "tensor/make.h"

namespace pel {
namespace {

enum Pair : std::size_t { kPlain, kWeighted };

Tensor binary_cross_entropy_with_logits_body(const Op& op, const Tensor& self, const Tensor& target,
                                             const std::optional<Tensor>& weight,
                                             const std::optional<Tensor>& pos_weight, Reduction reduction) {
  bool fits = target.dim() == self.dim();
  for (std::size_t i = 0; fits && i < self.sizes().size(); ++i) fits = target.sizes()[i] == self.sizes()[i];
  PEL_CHECK(fits, ShapeError, "targets must have the sizes of {}, not {}", describe(self), describe(target));
  if (!weight && !pos_weight) return run_loss(op, {self, target}, {reduction, kPlain});
  const Tensor one = weight && pos_weight ? Tensor() : full({}, 1, {self.dtype(), self.device()});
  return run_loss(op, {self, target, weight ? *weight : one, pos_weight ? *pos_weight : one},
                  {reduction, kWeighted});
}

// log(1 + e^-x)
Term softplus_of_minus(Term x) { return log1p(exp(-abs(x))) + max(-x, 0.0); }
Term plain(const RowTerms& t) { return fma(1 - t.in[1], t.in[0], softplus_of_minus(t.in[0])); }
Term weighted(const RowTerms& t) {
  const Term positive = fma(t.in[3] - 1.0, t.in[1], t.in[3].constant(1.0));
  return fma(1 - t.in[1], t.in[0], positive * softplus_of_minus(t.in[0])) * t.in[2];
}

// x and what it goes with, as gradients see them; weights that are not given are 1.
struct Given {
  explicit Given(const Vjp& v)
      : x(v["self"]),
        y(v["target"]),
        grad(element_grad(v, x.sizes())),
        weight(v.get<std::optional<Tensor>>("weight")),
        pos_weight(v.get<std::optional<Tensor>>("pos_weight")) {}
  Tensor weighted(const Tensor& t) const { return grad * (weight ? t * *weight : t); }
  Tensor softplus_of_minus_x() const { return neg(log_sigmoid(x)); }
  Tensor positive() const { return (*pos_weight - 1) * y + 1; }
  Tensor x, y, grad;
  std::optional<Tensor> weight, pos_weight;
};

RowProgram::Wanted reference(const RowData& in, const RowParams&, std::size_t place) {
  const long double x = in[0][place], y = in[1][place];
  const long double weight = in.size() > 2 ? in[2][place] : 1, positive = in.size() > 2 ? in[3][place] : 1;
  const long double log_yes = -std::log1p(std::exp(-x)), log_no = -x + log_yes;
  return {-weight * (positive * y * log_yes + (1 - y) * log_no),
          std::abs(weight) * ((1 + std::abs(y)) * (1 + std::abs(x)) +
                              (2 + std::abs(positive) * std::abs(y)) * (std::abs(log_yes) + 1))};
}

}  // namespace

namespace ops {
OpDef define_binary_cross_entropy_with_logits() {
  return further_loss(elementwise_loss(rows_op<binary_cross_entropy_with_logits_body>(
                                           "binary_cross_entropy_with_logits(Tensor self, Tensor target, "
                                           "Tensor? weight=None, Tensor? pos_weight=None, str "
                                           "reduction='mean') -> Tensor")
                                           .inputs(2)
                                           .params({7}),
                                       plain, reference),
                      "weighted", 4, weighted, reference)
      .autocast(CastRule::Wide)
      .vjp("self", "self target weight pos_weight reduction",
           [](const Vjp& v) {
             const Given of(v);
             return of.weighted(of.pos_weight ? 1 - of.y - of.positive() * sigmoid(neg(of.x))
                                              : sigmoid(of.x) - of.y);
           })
      .vjp("target", "self target weight pos_weight reduction",
           [](const Vjp& v) {
             const Given of(v);
             return of.weighted(of.pos_weight ? (*of.pos_weight - 1) * of.softplus_of_minus_x() - of.x
                                              : neg(of.x));
           })
      .vjp("weight", "self target weight pos_weight reduction",
           [](const Vjp& v) {
             const Given of(v);
             const Tensor softplus = of.softplus_of_minus_x();
             return of.grad * ((1 - of.y) * of.x + (of.pos_weight ? of.positive() * softplus : softplus));
           })
      .vjp("pos_weight", "self target weight pos_weight reduction",
           [](const Vjp& v) {
             const Given of(v);
             return of.weighted(of.y * of.softplus_of_minus_x());
           })
      .samples([](Sampler& s) {
        return SampleCalls{{s({3, 4}), s({3, 4}, 0, 1)},
                           {s({3, 4}), s({3, 4}, 0, 1), s({4}), s({4}, 0.5, 2), std::string("none")},
                           {s({3, 4}), s({3, 4}, 0, 1), s({3, 1}), Value(), std::string("sum")},
                           {s({3, 4}), s({3, 4}, 0, 1), Value(), s({4}, 0.5, 2)}};
      });
}
}  // namespace ops

Tensor binary_cross_entropy_with_logits(const Tensor& self, const Tensor& target,
                                        const std::optional<Tensor>& weight,
                                        const std::optional<Tensor>& pos_weight, Reduction reduction,
                                        Site site) {
  return call<"binary_cross_entropy_with_logits", binary_cross_entropy_with_logits_body>(
      site, self, target, weight, pos_weight, reduction);
}

}  // namespace pel
