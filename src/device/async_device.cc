#include "device/async_device.h"

#include "base/check.h"
#include "base/thread_object.h"

namespace pel {

ModuleHandle AsyncDevice::build(const DeviceSource&) {
  throw InternalError("this device has no kernels from text");
}
FunctionHandle AsyncDevice::function(ModuleHandle, const char*) {
  throw InternalError("this device has no kernels from text");
}
FunctionHandle AsyncDevice::copy(FunctionHandle) {
  throw InternalError("this device has no kernels from text");
}
void AsyncDevice::drop(FunctionHandle) noexcept {}
void AsyncDevice::launch(StreamHandle, FunctionHandle, const LaunchShape&, const LaunchArgs&) {
  throw InternalError("this device has no kernels from text");
}

LaunchTarget& launch_target() { return thread_object<LaunchTarget>(); }

}  // namespace pel
