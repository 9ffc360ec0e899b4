// The functions of OpenCL's library, which is loaded and not linked, and the facts of a device.
// <CL/cl.h> comes before this header: only .cc files include it.
#pragma once

#include <string>

namespace pel::opencl {

// clang-format off
#define PEL_EACH_FUNCTION(F) \
  F(clGetPlatformIDs) F(clGetPlatformInfo) F(clGetDeviceIDs) \
  F(clGetDeviceInfo) F(clCreateContext) F(clCreateCommandQueue) \
  F(clCreateBuffer) F(clReleaseMemObject) F(clCreateProgramWithSource) \
  F(clCreateProgramWithBinary) F(clBuildProgram) F(clGetProgramInfo) \
  F(clGetProgramBuildInfo) F(clReleaseProgram) F(clCreateKernel) \
  F(clReleaseKernel) F(clGetKernelInfo) \
  F(clSetKernelArg) F(clEnqueueNDRangeKernel) F(clEnqueueReadBuffer) \
  F(clEnqueueWriteBuffer) F(clEnqueueMarkerWithWaitList) F(clEnqueueBarrierWithWaitList) \
  F(clWaitForEvents) F(clGetEventInfo) F(clReleaseEvent) \
  F(clGetEventProfilingInfo) F(clFlush) F(clFinish)
// clang-format on

struct Library {
#define PEL_MEMBER(name) decltype(&::name) name = nullptr;
  PEL_EACH_FUNCTION(PEL_MEMBER)
#undef PEL_MEMBER
};

// Returns why the library cannot be used; empty if it can.
std::string load_library(Library& library);

template <class T>
T info(const Library& library, cl_device_id device, cl_device_info what) {
  T value{};
  library.clGetDeviceInfo(device, what, sizeof value, &value, nullptr);
  return value;
}
// The status of a function, or the one that a test puts in its place.
cl_int after_fault(cl_int status, const char* function);
bool has_ended(const Library& library, cl_event event);
std::string text(const Library& library, cl_device_id device, cl_device_info what);

// The first GPU of any platform, else its first device; null with a reason.
cl_device_id find_device(const Library& library, std::string& refusal);
// Why kernels would not have the bits of the CPU; empty if they do.
std::string refusal_of(const Library& library, cl_device_id device);

}  // namespace pel::opencl
