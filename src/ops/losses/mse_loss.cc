// (self - target)^2.
#include "ops/shared/loss.h"
#include "ops/shared/vjp.h"

namespace pel {
namespace {

Tensor mse_loss_body(const Op& op, const Tensor& self, const Tensor& target, Reduction reduction) {
  return run_loss(op, {self, target}, {reduction});
}

}  // namespace

namespace ops {
OpDef define_mse_loss() {
  return elementwise_loss(
             rows_op<mse_loss_body>("mse_loss(Tensor self, Tensor target, str reduction='mean') -> Tensor")
                 .inputs(2)
                 .params({7}),
             [](const RowTerms& t) {
               const Term difference = t.in[0] - t.in[1];
               return difference * difference;
             },
             [](const RowData& in, const RowParams&, std::size_t place) {
               const long double difference = in[0][place] - in[1][place];
               return RowProgram::Wanted{difference * difference, 0};
             })
      .autocast(CastRule::Wide)
      .vjp("self target", "self target reduction",
           [](const Vjp& v) {
             const Tensor difference = v["self"] - v["target"];
             return with_opposite(v, difference * (element_grad(v, difference.sizes()) * 2));
           })
      .samples([](Sampler& s) {
        return SampleCalls{{s({3, 4}), s({3, 4})},
                           {s({3, 4}), s({4}), std::string("none")},
                           {s({3, 1}), s({4}), std::string("sum")}};
      });
}
}  // namespace ops

Tensor mse_loss(const Tensor& self, const Tensor& target, Reduction reduction, Site site) {
  return call<"mse_loss", mse_loss_body>(site, self, target, reduction);
}

}  // namespace pel
