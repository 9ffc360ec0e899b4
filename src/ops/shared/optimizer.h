// What the optimizer steps share: lists of tensors for one kernel.
#pragma once

#include "dispatch/op_table.h"

namespace pel {

// Launches over [step, params, states…] as outputs and [lr, grads] as inputs. Parameters are dense and have
// the layout of their states; a gradient of another layout or dtype is copied first.
const Tensor& run_optimizer(const Op& op, const Tensor& step, const Tensor& lr, ArrayView<Tensor> params,
                            ArrayView<Tensor> grads, ArrayView<ArrayView<Tensor>> states,
                            ArrayView<Scalar> numbers);

}  // namespace pel
