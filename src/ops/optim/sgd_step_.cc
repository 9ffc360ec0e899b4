// One step of gradient descent, with momentum if there is a list for it: one kernel.
#include "pellucid/ops.h"
#include "pellucid/ops/optim.h"

#include "ops/shared/optimizer.h"

namespace pel {
namespace {

const Tensor& sgd_step_body(const Op& op, const Tensor& step, ArrayView<Tensor> params,
                            ArrayView<Tensor> momenta, ArrayView<Tensor> grads, const Tensor& lr,
                            double momentum, double dampening, double weight_decay, Nesterov nesterov) {
  const ArrayView<ArrayView<Tensor>> states(&momenta, momenta.empty() ? 0 : 1);
  return run_optimizer(op, step, lr, params, grads, states,
                       {momentum, dampening, weight_decay, nesterov == Nesterov::Yes});
}

}  // namespace

namespace ops {
OpDef define_sgd_step_() {
  return define_op<sgd_step_body>(
             OpKind::Kernel,
             "sgd_step_(Tensor(a!) step, Tensor(b!)[] params, Tensor(c!)[] momenta, Tensor[] grads, Tensor "
             "lr, *, "
             "float momentum=0, float dampening=0, float weight_decay=0, bool nesterov=False) -> Tensor(a!)")
      .dtypes(kFloating)
      .not_differentiable()
      .samples([](Sampler& s) {
        const auto one = [](Sampler& from) { return std::vector<Tensor>{from({3, 4})}; };
        return SampleCalls{{zeros({}), one(s), one(s), one(s), full({}, 0.1)}};
      });
}
}  // namespace ops

namespace internal {
const Tensor& sgd_step_(const Tensor& step, ArrayView<Tensor> params, ArrayView<Tensor> momenta,
                        ArrayView<Tensor> grads, const Tensor& lr, double momentum, double dampening,
                        double weight_decay, Nesterov nesterov, Site site) {
  return call<"sgd_step_", sgd_step_body>(site, step, params, momenta, grads, lr, momentum, dampening,
                                          weight_decay, nesterov);
}
}  // namespace internal

}  // namespace pel
