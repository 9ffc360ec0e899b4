// The CUDA device. It is compiled and tested on a test driver; no GPU has run it: docs/cuda.md says what is
// proven and what is not. Calls without a kernel of its own are counted as on OpenCL: device_fallbacks
// (opencl.h).
#pragma once

#include "pellucid/device.h"

namespace pel {

// The first GPU of the CUDA driver. devices() says why it cannot be used.
inline constexpr Device kCuda{DeviceType::Cuda, 0};

}  // namespace pel
