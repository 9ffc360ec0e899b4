// CUDA as an asynchronous device. The library loads the driver and NVRTC when the device is first asked for,
// and links nothing: without them, facts().refusal says so.
#pragma once

#include <memory>

#include "device/async_device.h"

namespace pel::cuda {

// Registers the kernels of the device (backends/grid) when it is found usable. Null: the library was built
// without kernels from text.
std::unique_ptr<AsyncDevice> make_cuda_device();

}  // namespace pel::cuda
