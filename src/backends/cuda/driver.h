// The functions of the CUDA driver that are used, as cuda.h declares them. They are found by dlopen; the
// toolkit's header is not needed to build the library: tests/cuda compares these types with it where it is
// installed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace pel::cuda {

using Result = int;  // CUresult; 0 is success
using Address = unsigned long long;
using Context = struct CUctx_st*;
using Stream_ = struct CUstream_st*;
using Event_ = struct CUevent_st*;
using Module_ = struct CUmod_st*;
using Function_ = struct CUfunc_st*;
using Graph_ = struct CUgraph_st*;
using GraphExec_ = struct CUgraphExec_st*;

// Values of enums that are passed or compared.
inline constexpr Result kSuccess = 0, kOutOfMemory = 2, kNotReady = 600;
inline constexpr int kProcessorCount = 16, kCapabilityMajor = 75,
                     kCapabilityMinor = 76;  // CUdevice_attribute
inline constexpr unsigned kNonBlockingStream = 1, kEventWithoutTiming = 2;
inline constexpr int kErrorLog = 5, kErrorLogSize = 6;  // CUjit_option
inline constexpr int kCaptureOfThread = 1;              // CUstreamCaptureMode

// clang-format off
#define PEL_EACH_DRIVER_FUNCTION(F) \
  F(cuInit, (unsigned)) \
  F(cuDriverGetVersion, (int*)) \
  F(cuGetErrorName, (Result, const char**)) \
  F(cuDeviceGetCount, (int*)) \
  F(cuDeviceGet, (int*, int)) \
  F(cuDeviceGetName, (char*, int, int)) \
  F(cuDeviceGetAttribute, (int*, int, int)) \
  F(cuDeviceTotalMem_v2, (std::size_t*, int)) \
  F(cuDevicePrimaryCtxRetain, (Context*, int)) \
  F(cuCtxPushCurrent_v2, (Context)) \
  F(cuCtxPopCurrent_v2, (Context*)) \
  F(cuMemAlloc_v2, (Address*, std::size_t)) \
  F(cuMemFree_v2, (Address)) \
  F(cuMemAllocHost_v2, (void**, std::size_t)) \
  F(cuMemFreeHost, (void*)) \
  F(cuMemcpyHtoDAsync_v2, (Address, const void*, std::size_t, Stream_)) \
  F(cuMemcpyDtoHAsync_v2, (void*, Address, std::size_t, Stream_)) \
  F(cuMemsetD8Async, (Address, unsigned char, std::size_t, Stream_)) \
  F(cuStreamCreate, (Stream_*, unsigned)) \
  F(cuStreamWaitEvent, (Stream_, Event_, unsigned)) \
  F(cuStreamSynchronize, (Stream_)) \
  F(cuEventCreate, (Event_*, unsigned)) \
  F(cuEventRecord, (Event_, Stream_)) \
  F(cuEventQuery, (Event_)) \
  F(cuEventSynchronize, (Event_)) \
  F(cuEventDestroy_v2, (Event_)) \
  F(cuModuleLoadDataEx, (Module_*, const void*, unsigned, int*, void**)) \
  F(cuModuleGetFunction, (Function_*, Module_, const char*)) \
  F(cuLaunchKernel, (Function_, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Stream_, void**, void**)) \
  F(cuStreamBeginCapture_v2, (Stream_, int)) \
  F(cuStreamEndCapture, (Stream_, Graph_*)) \
  F(cuGraphInstantiateWithFlags, (GraphExec_*, Graph_, unsigned long long)) \
  F(cuGraphLaunch, (GraphExec_, Stream_)) \
  F(cuGraphExecDestroy, (GraphExec_)) \
  F(cuGraphDestroy, (Graph_))
// clang-format on

struct Driver {
#define PEL_MEMBER(name, types) Result(*name) types = nullptr;
  PEL_EACH_DRIVER_FUNCTION(PEL_MEMBER)
#undef PEL_MEMBER
};

// Loads libcuda.so.1, or the library that PELLUCID_CUDA_DRIVER names. Returns why it cannot be used; empty if
// it can.
std::string load_driver(Driver& driver);

// "CUDA_ERROR_OUT_OF_MEMORY (2)"
std::string error_text(const Driver& driver, Result status);

// Whether no later call of the process can succeed: a kernel failed, or the device is gone.
bool is_sticky(Result status);

}  // namespace pel::cuda
