// Copies that bodies of ops make for their kernels, without passing through dispatch.
#pragma once

#include "pellucid/tensor.h"

namespace pel {

// Of another dtype, or row-major: itself where it is, else a copy.
Tensor converted(const Tensor& t, DType dtype);
Tensor row_major(const Tensor& t);

}  // namespace pel
