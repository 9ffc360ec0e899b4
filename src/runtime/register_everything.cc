// The only file that knows all ops, backends and layers.
#include "pellucid/cuda.h"
#include "pellucid/opencl.h"

#include "autograd/register.h"
#include "backends/cpu/kernels.h"
#include "backends/cuda/cuda_device.h"
#include "backends/opencl/opencl_device.h"
#include "backends/queue/queue_device.h"
#include "compile/capture.h"
#include "device/registry.h"
#include "dispatch/registry.h"

namespace pel {

void register_devices() {
  add_device(kQueue, queue::make_queue_device());
  add_device(kOpenCl, opencl::make_opencl_device());
  add_device(kCuda, cuda::make_cuda_device());
}

void register_everything() {
  Registry::register_builtins();
  cpu::register_kernels();
  register_profile();
  autograd::register_autograd();
  autograd::register_autocast();
  compiler::register_capture();
}

}  // namespace pel
