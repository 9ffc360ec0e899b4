// What add, sub and rsub share: the number that one operand is multiplied with.
#pragma once

#include "pellucid/extend/vjp.h"
#include "pellucid/tensor.h"

namespace pel {

// The number of the formula for this alpha: 0 without a multiplication, 1 with one. Refuses an alpha that the
// operands' dtype cannot hold.
std::size_t scaled_formula(const Tensor& self, const Tensor& other, const Scalar& alpha);
// The numbers of that formula: alpha, if it uses it.
inline ArrayView<Scalar> scaled_params(const Scalar& alpha, std::size_t formula) {
  return ArrayView<Scalar>(&alpha, formula);
}
// The gradient of the operand that alpha multiplies.
Tensor scaled_gradient(const Vjp& v);

}  // namespace pel
