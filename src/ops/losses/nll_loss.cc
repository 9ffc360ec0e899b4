// -x at the target's class, from logarithms of probabilities.
#include "pellucid/ops/pointwise.h"

#include "ops/shared/loss.h"

namespace pel {
namespace {

Tensor nll_loss_body(const Tensor& self, const Tensor& target, const std::optional<Tensor>& weight,
                     Reduction reduction, std::int64_t ignore_index) {
  check_reduction(reduction);
  const ClassTarget classes = class_target(self, target, weight, ignore_index);
  const Tensor losses = neg(at_target(self, classes));
  return reduce_classes(classes.weight ? mul(losses, *classes.weight) : losses, classes, reduction,
                        self.dtype());
}

}  // namespace

namespace ops {
OpDef define_nll_loss() {
  return define_op<nll_loss_body>(OpKind::Composite,
                                  "nll_loss(Tensor self, Tensor target, Tensor? weight=None, str "
                                  "reduction='mean', int ignore_index=-100) -> Tensor")
      .autocast(CastRule::Wide)
      .dtypes(kFloating)
      .samples([](Sampler& s) {
        return SampleCalls{{s({3, 4}), s.indices(4, {3})},
                           {s({2, 3, 2}), s.indices(3, {2, 2}), s({3}, 0.5, 2), std::string("mean"), Dim(1)},
                           {s({4}), s.indices(4, {}), Value(), std::string("none")}};
      });
}
}  // namespace ops

Tensor nll_loss(const Tensor& self, const Tensor& target, const std::optional<Tensor>& weight,
                Reduction reduction, std::int64_t ignore_index, Site site) {
  return call<"nll_loss", nll_loss_body>(site, self, target, weight, reduction, ignore_index);
}

}  // namespace pel
