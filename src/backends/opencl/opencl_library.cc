#include <atomic>
#include <vector>

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <dlfcn.h>

#include "backends/opencl/opencl_device.h"
#include "backends/opencl/opencl_library.h"

namespace pel::opencl {

std::string load_library(Library& library) {
  void* const handle = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);  // never closed: drivers have threads
  if (handle == nullptr)
    return "libOpenCL.so.1 was not found; install an OpenCL ICD loader and a driver, such as Debian's "
           "ocl-icd-libopencl1 and pocl-opencl-icd";
#define PEL_LOAD(name)                                                      \
  library.name = reinterpret_cast<decltype(&::name)>(dlsym(handle, #name)); \
  if (library.name == nullptr) return "libOpenCL.so.1 has no function " #name;
  PEL_EACH_FUNCTION(PEL_LOAD)
#undef PEL_LOAD
  return {};
}

std::atomic<Fault> fault{nullptr};

cl_int after_fault(cl_int status, const char* function) {
  const Fault given = fault.load(std::memory_order_relaxed);
  if (given == nullptr || status != CL_SUCCESS) [[likely]]
    return status;
  const int instead = given(function);
  return instead == 0 ? status : instead;
}
void set_fault(Fault given) { fault.store(given, std::memory_order_relaxed); }

bool has_ended(const Library& library, cl_event event) {
  cl_int status = CL_QUEUED;
  library.clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr);
  return status <= CL_COMPLETE;  // negative: it failed
}
std::string text(const Library& library, cl_device_id device, cl_device_info what) {
  std::size_t size = 0;
  library.clGetDeviceInfo(device, what, 0, nullptr, &size);
  std::string value(size, '\0');
  library.clGetDeviceInfo(device, what, size, value.data(), nullptr);
  while (!value.empty() && value.back() == '\0') value.pop_back();
  return value;
}

cl_device_id find_device(const Library& library, std::string& refusal) {
  cl_uint count = 0;
  library.clGetPlatformIDs(0, nullptr, &count);
  std::vector<cl_platform_id> platforms(count);
  if (count != 0) library.clGetPlatformIDs(count, platforms.data(), nullptr);
  for (const cl_device_type type : {cl_device_type{CL_DEVICE_TYPE_GPU}, cl_device_type{CL_DEVICE_TYPE_ALL}}) {
    for (cl_platform_id platform : platforms) {
      cl_device_id device = nullptr;
      if (library.clGetDeviceIDs(platform, type, 1, &device, nullptr) == CL_SUCCESS) return device;
    }
  }
  refusal = count == 0 ? "no OpenCL platform is installed; Debian's pocl-opencl-icd brings one for the CPU"
                       : "no OpenCL platform has a device";
  return nullptr;
}

std::string refusal_of(const Library& library, cl_device_id device) {
  const auto floats = info<cl_device_fp_config>(library, device, CL_DEVICE_SINGLE_FP_CONFIG);
  if ((floats & CL_FP_DENORM) == 0) return "it flushes denormals to zero";
  if ((floats & CL_FP_INF_NAN) == 0) return "it has no infinities and NaN";
  if ((floats & CL_FP_ROUND_TO_NEAREST) == 0) return "it does not round to nearest";
  // Oclgrind, which interprets kernels to check them, divides as its host does, and does not say so.
  const bool is_interpreted = text(library, device, CL_DEVICE_NAME) == "Oclgrind Simulator";
  if ((floats & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT) == 0 && !is_interpreted)
    return "it does not round division and square roots correctly";
  if (!info<cl_bool>(library, device, CL_DEVICE_ENDIAN_LITTLE)) return "it is big-endian";
  if (!info<cl_bool>(library, device, CL_DEVICE_COMPILER_AVAILABLE)) return "it has no compiler";
  return {};
}

}  // namespace pel::opencl
