// (self - target)^2 / 2 up to a distance of delta, from there on the line that continues it.
#include "base/check.h"
#include "ops/shared/loss.h"
#include "ops/shared/vjp.h"

namespace pel {
namespace {

Tensor huber_loss_body(const Op& op, const Tensor& self, const Tensor& target, Reduction reduction,
                       double delta) {
  PEL_CHECK(delta > 0, ValueError, "delta is {}, and must be positive", delta);
  return run_loss(op, {self, target}, {reduction}, {delta});
}

}  // namespace

namespace ops {
OpDef define_huber_loss() {
  return elementwise_loss(
             rows_op<huber_loss_body>(
                 "huber_loss(Tensor self, Tensor target, str reduction='mean', float delta=1) -> Tensor")
                 .inputs(2)
                 .params({7, 1.5}),
             [](const RowTerms& t) {
               const Term distance = abs(t.in[0] - t.in[1]), delta = t.numbers[1];
               return select(distance < delta, 0.5 * distance * distance, delta * (distance - 0.5 * delta));
             },
             [](const RowData& in, const RowParams& params, std::size_t place) {
               const long double distance = std::abs(in[0][place] - in[1][place]);
               const auto delta = static_cast<long double>(params[1]);
               const long double near = std::min(distance, delta);
               return RowProgram::Wanted{near * near / 2 + delta * (distance - near), delta * distance};
             })
      .autocast(CastRule::Wide)
      .vjp("self target", "self target reduction delta",
           [](const Vjp& v) {
             const Tensor difference = v["self"] - v["target"];
             const double delta = v.get<double>("delta");
             return with_opposite(v, clamp(difference, -delta, delta) * element_grad(v, difference.sizes()));
           })
      .samples([](Sampler& s) {
        return SampleCalls{{s({3, 4}), s({3, 4})}, {s({3, 4}), s({4}), std::string("none"), 0.7}};
      });
}
}  // namespace ops

Tensor huber_loss(const Tensor& self, const Tensor& target, Reduction reduction, double delta, Site site) {
  return call<"huber_loss", huber_loss_body>(site, self, target, reduction, delta);
}

}  // namespace pel
