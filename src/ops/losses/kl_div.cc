// target (log target - self), 0 where the target is 0; with log target given, e^target (target - self).
#include "base/check.h"
#include "ops/shared/loss.h"
#include "ops/shared/operands.h"
#include "ops/shared/vjp.h"
#include "tensor/make.h"

namespace pel {
namespace {

enum Pair : std::size_t { kTarget, kLogTarget };

Tensor kl_div_body(const Op& op, const Tensor& self, const Tensor& target, Reduction reduction,
                   LogTarget log_target) {
  LossCall call{reduction, log_target == LogTarget::Yes ? kLogTarget : kTarget};
  if (reduction == Reduction::BatchMean) {
    PEL_CHECK(self.dim() > 0, ShapeError, "batchmean divides by the first size; {} has none", describe(self));
    call.divisor = self.sizes()[0];
  }
  return run_loss(op, {self, target}, call);
}

}  // namespace

namespace ops {
OpDef define_kl_div() {
  return further_loss(
             elementwise_loss(
                 rows_op<kl_div_body>("kl_div(Tensor self, Tensor target, str reduction='mean', bool "
                                      "log_target=False) -> Tensor")
                     .inputs(2)
                     .params({7})
                     .domain(0, 4),
                 [](const RowTerms& t) {
                   const Term x = t.in[0], y = t.in[1];
                   return select(y == 0.0, y.constant(0.0), y * log(y)) - y * x;
                 },
                 [](const RowData& in, const RowParams&, std::size_t place) {
                   const long double x = in[0][place], y = in[1][place];
                   const long double logarithm = y == 0 ? 0 : y * std::log(y);
                   return RowProgram::Wanted{logarithm - y * x, std::abs(logarithm) + std::abs(y * x)};
                 }),
             "log_target", 2, [](const RowTerms& t) { return exp(t.in[1]) * (t.in[1] - t.in[0]); },
             [](const RowData& in, const RowParams&, std::size_t place) {
               const long double x = in[0][place], y = in[1][place];
               return RowProgram::Wanted{std::exp(y) * (y - x), 0};
             })
      .autocast(CastRule::Wide)
      .vjp("self", "target reduction log_target",
           [](const Vjp& v) {
             DimVector sizes(v.sizes("self"));
             broadcast_clash(sizes, v["target"].sizes());
             const Tensor grad = neg(element_grad(v, sizes));
             return grad * (v.get<bool>("log_target") ? exp(v["target"]) : v["target"]);
           })
      .vjp("target", "self target reduction log_target",
           [](const Vjp& v) {
             const Tensor &x = v["self"], &y = v["target"];
             const Tensor slope = v.get<bool>("log_target") ? exp(y) * (y - x + 1) : log(y) - x + 1;
             return slope * element_grad(v, slope.sizes());
           })
      .samples([](Sampler& s) {
        return SampleCalls{{s({3, 4}), s({3, 4}, 0.1, 1)},
                           {s({3, 4}), s({4}, 0.1, 1), std::string("none")},
                           {s({3, 4}), s({3, 4}), std::string("batchmean"), true}};
      });
}
}  // namespace ops

Tensor kl_div(const Tensor& self, const Tensor& target, Reduction reduction, LogTarget log_target,
              Site site) {
  return call<"kl_div", kl_div_body>(site, self, target, reduction, log_target);
}

}  // namespace pel
