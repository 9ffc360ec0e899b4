// What fill_, full and full_like share.
#pragma once

#include "pellucid/tensor.h"

namespace pel {

// Launches the kernels of fill_ on `dst`. A number that the dtype cannot hold is refused, also for no
// elements.
void launch_fill(const Tensor& dst, const Scalar& value);

}  // namespace pel
