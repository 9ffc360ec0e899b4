// OpenCL without a library of ours: the first device, one queue, kernels from text. For peers.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <vector>

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <dlfcn.h>

namespace bench {

class BareOpenCl {
 public:
  BareOpenCl() {
    void* const handle = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) fail("dlopen", 0);
    const auto load = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, name));
    };
    load(platforms_, "clGetPlatformIDs"), load(devices_, "clGetDeviceIDs");
    load(make_context_, "clCreateContext"), load(make_queue_, "clCreateCommandQueue");
    load(make_buffer_, "clCreateBuffer"), load(write_, "clEnqueueWriteBuffer");
    load(make_program_, "clCreateProgramWithSource"), load(build_, "clBuildProgram");
    load(make_kernel_, "clCreateKernel");
    load(set_arg, "clSetKernelArg"), load(enqueue, "clEnqueueNDRangeKernel");
    load(flush, "clFlush"), load(finish_, "clFinish");
    cl_platform_id platform = nullptr;
    check(platforms_(1, &platform, nullptr), "clGetPlatformIDs");
    check(devices_(platform, CL_DEVICE_TYPE_ALL, 1, &device_, nullptr), "clGetDeviceIDs");
    cl_int status = CL_SUCCESS;
    context_ = make_context_(nullptr, 1, &device_, nullptr, nullptr, &status);
    check(status, "clCreateContext");
    queue = make_queue_(context_, device_, 0, &status);
    check(status, "clCreateCommandQueue");
  }

  cl_kernel kernel(const char* name, const char* text) const {
    cl_int status = CL_SUCCESS;
    cl_program const program = make_program_(context_, 1, &text, nullptr, &status);
    check(status, "clCreateProgramWithSource");
    check(build_(program, 1, &device_, "-cl-std=CL1.2", nullptr, nullptr), "clBuildProgram");
    cl_kernel const made = make_kernel_(program, name, &status);
    check(status, "clCreateKernel");
    return made;
  }
  cl_mem buffer(const std::vector<float>& values) const {
    cl_int status = CL_SUCCESS;
    const std::size_t bytes = values.size() * sizeof(float);
    cl_mem const made = make_buffer_(context_, CL_MEM_READ_WRITE, bytes, nullptr, &status);
    check(status, "clCreateBuffer");
    check(write_(queue, made, CL_TRUE, 0, bytes, values.data(), 0, nullptr, nullptr), "clEnqueueWriteBuffer");
    return made;
  }
  void finish() const { check(finish_(queue), "clFinish"); }
  static void check(cl_int status, const char* function) {
    if (status != CL_SUCCESS) fail(function, status);
  }

  cl_command_queue queue = nullptr;
  decltype(&clSetKernelArg) set_arg = nullptr;
  decltype(&clEnqueueNDRangeKernel) enqueue = nullptr;
  decltype(&clFlush) flush = nullptr;

 private:
  [[noreturn]] static void fail(const char* function, cl_int status) {
    std::fprintf(stderr, "%s failed with status %d\n", function, status);
    std::exit(1);
  }
  decltype(&clGetPlatformIDs) platforms_ = nullptr;
  decltype(&clGetDeviceIDs) devices_ = nullptr;
  decltype(&clCreateContext) make_context_ = nullptr;
  decltype(&clCreateCommandQueue) make_queue_ = nullptr;
  decltype(&clCreateBuffer) make_buffer_ = nullptr;
  decltype(&clEnqueueWriteBuffer) write_ = nullptr;
  decltype(&clCreateProgramWithSource) make_program_ = nullptr;
  decltype(&clBuildProgram) build_ = nullptr;
  decltype(&clCreateKernel) make_kernel_ = nullptr;
  decltype(&clFinish) finish_ = nullptr;
  cl_device_id device_ = nullptr;
  cl_context context_ = nullptr;
};

}  // namespace bench
