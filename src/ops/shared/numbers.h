// Numbers in gradient formulas. On an asynchronous device a number operand stays on the host, where its value
// goes into launches; an op over numbers alone would have its result there too. On every device such an op
// computes in f32, which is too little for a gradient in f64.
#pragma once

#include "pellucid/ops.h"
#include "pellucid/ops/pointwise.h"

namespace pel {

// An operand that a formula computes with alone: a number becomes a tensor of `dtype` on the device of the
// gradient, if that is asynchronous or `dtype` is f64.
inline Tensor as_tensor_for(const Tensor& grad, const Tensor& operand, DType dtype) {
  if (!operand.header()->is_number || (dtype != kF64 && !is_asynchronous(grad.device()))) return operand;
  return ones({}, {dtype, grad.device()}) * operand;
}
// In the dtype of the result of an op over numbers, or in f64 for a gradient in it.
inline Tensor as_tensor_for(const Tensor& grad, const Tensor& operand) {
  const DType floating = grad.dtype() == kF64 ? kF64 : kF32;
  return as_tensor_for(grad, operand, is_floating(operand.dtype()) ? floating : operand.dtype());
}

}  // namespace pel
