// Single elements of a tensor as numbers.
#pragma once

#include "pellucid/dtype.h"
#include "pellucid/scalar.h"

namespace pel {

Scalar load_element(DType dtype, const void* from);
// A fraction is cut, a negative integer wraps into u8. What does not fit saturates.
void store_element(DType dtype, void* to, const Scalar& value);

// Refuses a number that the dtype cannot hold. For ops: a kernel cannot report an error.
void check_fits(DType dtype, const Scalar& value);

}  // namespace pel
