// The walk from outputs back to what they were computed from.
#pragma once

#include "pellucid/autograd.h"

#include "autograd/node.h"

namespace pel::autograd {

// `inputs` empty: leaves add up what arrives. Otherwise: the gradients of `inputs`, and no leaf changes.
std::vector<Tensor> walk(ArrayView<Tensor> outputs, ArrayView<Tensor> inputs, const BackwardOptions& options,
                         bool accumulates);

}  // namespace pel::autograd
