// One step of Adam or AdamW for any number of parameters: one kernel.
#include "pellucid/ops.h"
#include "pellucid/ops/optim.h"

#include "ops/shared/optimizer.h"

namespace pel {
namespace {

const Tensor& adam_step_body(const Op& op, const Tensor& step, ArrayView<Tensor> params,
                             ArrayView<Tensor> first, ArrayView<Tensor> second, ArrayView<Tensor> grads,
                             const Tensor& lr, double beta1, double beta2, double eps, double weight_decay,
                             Decoupled decoupled) {
  return run_optimizer(op, step, lr, params, grads, {first, second},
                       {beta1, beta2, eps, weight_decay, decoupled == Decoupled::Yes});
}

}  // namespace

namespace ops {
OpDef define_adam_step_() {
  return define_op<adam_step_body>(OpKind::Kernel,
                                   "adam_step_(Tensor(a!) step, Tensor(b!)[] params, Tensor(c!)[] first, "
                                   "Tensor(d!)[] second, Tensor[] "
                                   "grads, Tensor lr, *, float beta1=0.9, float beta2=0.999, float "
                                   "eps=1e-08, float weight_decay=0, bool "
                                   "decoupled=True) -> Tensor(a!)")
      .dtypes(kFloating)
      .not_differentiable()
      .samples([](Sampler& s) {
        const auto one = [](Sampler& from) { return std::vector<Tensor>{from({3, 4})}; };
        return SampleCalls{{zeros({}), one(s), one(s), one(s), one(s), full({}, 0.1)}};
      });
}
}  // namespace ops

namespace internal {
const Tensor& adam_step_(const Tensor& step, ArrayView<Tensor> params, ArrayView<Tensor> first,
                         ArrayView<Tensor> second, ArrayView<Tensor> grads, const Tensor& lr, double beta1,
                         double beta2, double eps, double weight_decay, Decoupled decoupled, Site site) {
  return call<"adam_step_", adam_step_body>(site, step, params, first, second, grads, lr, beta1, beta2, eps,
                                            weight_decay, decoupled);
}
}  // namespace internal

}  // namespace pel
