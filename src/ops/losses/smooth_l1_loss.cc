// |self - target| - beta / 2, and below a distance of beta the parabola that ends in it.
#include "base/check.h"
#include "ops/shared/loss.h"
#include "ops/shared/vjp.h"

namespace pel {
namespace {

Tensor smooth_l1_loss_body(const Op& op, const Tensor& self, const Tensor& target, Reduction reduction,
                           double beta) {
  PEL_CHECK(beta >= 0, ValueError, "beta is {}, and must not be negative", beta);
  return run_loss(op, {self, target}, {reduction}, {beta});
}

}  // namespace

namespace ops {
OpDef define_smooth_l1_loss() {
  return elementwise_loss(
             rows_op<smooth_l1_loss_body>(
                 "smooth_l1_loss(Tensor self, Tensor target, str reduction='mean', float beta=1) -> Tensor")
                 .inputs(2)
                 .params({7, 1.5}),
             [](const RowTerms& t) {
               const Term distance = abs(t.in[0] - t.in[1]), beta = t.numbers[1];
               return select(distance < beta, 0.5 * distance * distance / beta, distance - 0.5 * beta);
             },
             [](const RowData& in, const RowParams& params, std::size_t place) {
               const long double distance = std::abs(in[0][place] - in[1][place]);
               const auto beta = static_cast<long double>(params[1]);
               const long double near = std::min(distance, beta);
               return RowProgram::Wanted{near * near / (2 * beta) + distance - near, distance};
             })
      .autocast(CastRule::Wide)
      .vjp("self target", "self target reduction beta",
           [](const Vjp& v) {
             const Tensor difference = v["self"] - v["target"];
             const double beta = v.get<double>("beta");
             const Tensor slope = beta == 0 ? sign(difference) : clamp(difference / beta, -1, 1);
             return with_opposite(v, slope * element_grad(v, difference.sizes()));
           })
      .samples([](Sampler& s) {
        return SampleCalls{{s({3, 4}), s({3, 4})},
                           {s({3, 4}), s({4}), std::string("none"), 0.7},
                           {s({3, 4}), s({3, 4}), std::string("sum"), 0.0}};
      });
}
}  // namespace ops

Tensor smooth_l1_loss(const Tensor& self, const Tensor& target, Reduction reduction, double beta, Site site) {
  return call<"smooth_l1_loss", smooth_l1_loss_body>(site, self, target, reduction, beta);
}

}  // namespace pel
