// Single elements of a tensor as numbers.
#pragma once

#include "pellucid/dtype.h"
#include "pellucid/scalar.h"

namespace pel {

Scalar load_element(DType dtype, const void* from);
// Refuses a number that the dtype cannot hold; a fraction is cut, a negative integer wraps into u8.
void store_element(DType dtype, void* to, const Scalar& value);

}  // namespace pel
