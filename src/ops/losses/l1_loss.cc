// |self - target|.
#include "ops/shared/loss.h"
#include "ops/shared/vjp.h"

namespace pel {
namespace {

Tensor l1_loss_body(const Op& op, const Tensor& self, const Tensor& target, Reduction reduction) {
  return run_loss(op, {self, target}, {reduction});
}

}  // namespace

namespace ops {
OpDef define_l1_loss() {
  return elementwise_loss(
             rows_op<l1_loss_body>("l1_loss(Tensor self, Tensor target, str reduction='mean') -> Tensor")
                 .inputs(2)
                 .params({7}),
             [](const RowTerms& t) { return abs(t.in[0] - t.in[1]); },
             [](const RowData& in, const RowParams&, std::size_t place) {
               return RowProgram::Wanted{std::abs(in[0][place] - in[1][place]), 0};
             })
      .autocast(CastRule::Wide)
      .vjp("self target", "self target reduction",
           [](const Vjp& v) {
             const Tensor difference = v["self"] - v["target"];
             return with_opposite(v, sign(difference) * element_grad(v, difference.sizes()));
           })
      .samples([](Sampler& s) {
        return SampleCalls{{s({3, 4}), s({3, 4})}, {s({3, 4}), s({4}), std::string("none")}};
      });
}
}  // namespace ops

Tensor l1_loss(const Tensor& self, const Tensor& target, Reduction reduction, Site site) {
  return call<"l1_loss", l1_loss_body>(site, self, target, reduction);
}

}  // namespace pel
