#include "pellucid/autograd.h"
#include "pellucid/ops.h"
#include "pellucid/ops/indexing.h"
#include "pellucid/ops/pointwise.h"
#include "pellucid/optim.h"

#include "base/check.h"

namespace pel::optim {
namespace {

std::vector<Tensor> gradients(const nn::Module& module) {
  std::vector<Tensor> found;
  for (const Tensor& parameter : module.parameters()) {
    if (const Tensor grad = parameter.grad(); grad.defined()) found.push_back(grad);
  }
  return found;
}

}  // namespace

Tensor clip_grad_norm_(const nn::Module& module, double max_norm, Site site) {
  return as_call("clip_grad_norm_", site, [&] {
    const NoGrad no_grad;
    std::vector<Tensor> squares;
    const std::vector<Tensor> grads = gradients(module);
    for (const Tensor& grad : grads) squares.push_back(sum(square(grad.to(kF32))));
    if (squares.empty()) return zeros({}, kF32);
    const Tensor norm = sqrt(sum(stack(squares)));
    const Tensor factor = clamp_max(max_norm / (norm + 1e-6), 1.0);
    for (const Tensor& grad : grads) mul_(grad, factor);
    return norm;
  });
}

void clip_grad_value_(const nn::Module& module, double clip_value, Site site) {
  as_call("clip_grad_value_", site, [&] {
    const NoGrad no_grad;
    for (const Tensor& grad : gradients(module)) clamp_(grad, Scalar(-clip_value), Scalar(clip_value));
  });
}

}  // namespace pel::optim
