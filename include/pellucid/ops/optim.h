// Optimizer steps as ops: one kernel for any number of parameters. The classes of optim.h call them.
//
// `step` and `lr` are f32 without axes: they are data, which a compiled step reads anew each time. `step` is
// incremented first. States are f32 for f16 and bf16 parameters. Parameters are dense in memory.
#pragma once

#include "pellucid/tensor.h"

namespace pel {

enum class Decoupled : bool { No, Yes };  // weight decay next to the gradient (AdamW), or added to it (Adam)
enum class Nesterov : bool { No, Yes };

namespace internal {

PEL_API const Tensor& adam_step_(const Tensor& step, ArrayView<Tensor> params, ArrayView<Tensor> first,
                                 ArrayView<Tensor> second, ArrayView<Tensor> grads, const Tensor& lr,
                                 double beta1 = 0.9, double beta2 = 0.999, double eps = 1e-8,
                                 double weight_decay = 0, Decoupled decoupled = Decoupled::Yes,
                                 Site site = Site::current());

// `momenta` is empty if momentum is 0.
PEL_API const Tensor& sgd_step_(const Tensor& step, ArrayView<Tensor> params, ArrayView<Tensor> momenta,
                                ArrayView<Tensor> grads, const Tensor& lr, double momentum = 0,
                                double dampening = 0, double weight_decay = 0,
                                Nesterov nesterov = Nesterov::No, Site site = Site::current());

}  // namespace internal
}  // namespace pel
