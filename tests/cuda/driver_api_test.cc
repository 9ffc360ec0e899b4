// The declarations of src/backends/cuda/driver.h against the toolkit's header, where it is installed.
#include <type_traits>

#include <gtest/gtest.h>

#include "backends/cuda/driver.h"

#if __has_include(<cuda.h>)
#include <cuda.h>
#endif

namespace pel::cuda {
namespace {

TEST(CudaDriver, AMissingDriverIsAReason) {
  Driver driver;
  setenv("PELLUCID_CUDA_DRIVER", "/there/is/none.so", 1);
  EXPECT_EQ(load_driver(driver).find("no driver: /there/is/none.so, which PELLUCID_CUDA_DRIVER names"), 0U);
  unsetenv("PELLUCID_CUDA_DRIVER");
}

#ifdef CUDA_VERSION

// Whether a parameter is passed as the same kind of value: pointers as pointers, integers and enums of one
// width and kind as each other.
template <class Ours, class Theirs>
constexpr bool is_same_value =
    sizeof(Ours) == sizeof(Theirs) && std::is_pointer_v<Ours> == std::is_pointer_v<Theirs> &&
    std::is_floating_point_v<Ours> == std::is_floating_point_v<Theirs>;
template <class Ours, class Theirs>
struct IsSameFunction : std::false_type {};
template <class R, class... Ours, class S, class... Theirs>
struct IsSameFunction<R (*)(Ours...), S (*)(Theirs...)> {
  static constexpr bool value = [] {
    if constexpr (sizeof...(Ours) == sizeof...(Theirs)) {
      return is_same_value<R, S> && (is_same_value<Ours, Theirs> && ...);
    } else {
      return false;
    }
  }();
};

#define PEL_COMPARE(name, types)                                                  \
  static_assert(IsSameFunction<decltype(Driver::name), decltype(&::name)>::value, \
                #name " is declared otherwise");
PEL_EACH_DRIVER_FUNCTION(PEL_COMPARE)
#undef PEL_COMPARE

TEST(CudaDriver, ValuesAreThoseOfTheHeader) {
  EXPECT_EQ(kSuccess, CUDA_SUCCESS);
  EXPECT_EQ(kOutOfMemory, CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(kNotReady, CUDA_ERROR_NOT_READY);
  EXPECT_EQ(kProcessorCount, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  EXPECT_EQ(kCapabilityMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  EXPECT_EQ(kCapabilityMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  EXPECT_EQ(kNonBlockingStream, static_cast<unsigned>(CU_STREAM_NON_BLOCKING));
  EXPECT_EQ(kEventWithoutTiming, static_cast<unsigned>(CU_EVENT_DISABLE_TIMING));
  EXPECT_EQ(kCaptureOfThread, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  EXPECT_EQ(kErrorLog, CU_JIT_ERROR_LOG_BUFFER);
  EXPECT_EQ(kErrorLogSize, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
  for (const Result status :
       {CUDA_ERROR_DEINITIALIZED, CUDA_ERROR_DEVICE_UNAVAILABLE, CUDA_ERROR_NO_DEVICE,
        CUDA_ERROR_ECC_UNCORRECTABLE, CUDA_ERROR_NVLINK_UNCORRECTABLE, CUDA_ERROR_ILLEGAL_ADDRESS,
        CUDA_ERROR_LAUNCH_TIMEOUT, CUDA_ERROR_CONTEXT_IS_DESTROYED, CUDA_ERROR_ASSERT,
        CUDA_ERROR_HARDWARE_STACK_ERROR, CUDA_ERROR_ILLEGAL_INSTRUCTION, CUDA_ERROR_MISALIGNED_ADDRESS,
        CUDA_ERROR_INVALID_ADDRESS_SPACE, CUDA_ERROR_INVALID_PC, CUDA_ERROR_LAUNCH_FAILED,
        CUDA_ERROR_UNKNOWN})
    EXPECT_TRUE(is_sticky(status)) << status;
  for (const Result status :
       {CUDA_SUCCESS, CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_INVALID_PTX,
        CUDA_ERROR_INVALID_HANDLE, CUDA_ERROR_NOT_FOUND, CUDA_ERROR_NOT_READY})
    EXPECT_FALSE(is_sticky(status)) << status;
}

#else

TEST(CudaDriver, ValuesAreThoseOfTheHeader) {
  GTEST_SKIP() << "the header cuda.h of the CUDA toolkit is not installed";
}

#endif

}  // namespace
}  // namespace pel::cuda
