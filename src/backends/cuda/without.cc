// In place of cuda_device.cc in the runtime library, which has no kernels from text.
#include "backends/cuda/cuda_device.h"

namespace pel::cuda {

std::unique_ptr<AsyncDevice> make_cuda_device() { return nullptr; }

}  // namespace pel::cuda
