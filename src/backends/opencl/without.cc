// In place of opencl_device.cc where OpenCL's headers are not installed.
#include "backends/opencl/opencl_device.h"

namespace pel::opencl {

std::unique_ptr<AsyncDevice> make_opencl_device() { return nullptr; }
void set_fault(Fault) {}

}  // namespace pel::opencl
