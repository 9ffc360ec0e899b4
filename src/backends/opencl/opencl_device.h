// OpenCL as an asynchronous device. The library loads libOpenCL.so.1 when the device is first asked for, and
// links nothing: without it, facts().refusal says so.
#pragma once

#include <memory>

#include "device/async_device.h"

namespace pel::opencl {

// Registers the kernels of the device (backends/grid) when it is found usable. Null: the library was built
// without OpenCL's headers.
std::unique_ptr<AsyncDevice> make_opencl_device();

// For tests. `fault` gets the name of a function of OpenCL that has succeeded; the status that it returns
// takes the place of that, unless it is 0. Null: none.
using Fault = int (*)(const char* function);
void set_fault(Fault fault);

}  // namespace pel::opencl
