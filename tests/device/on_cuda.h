// Tests of kCuda on the test driver (tests/support/cuda_driver), which interprets the PTX of NVRTC. With
// PELLUCID_CUDA_DRIVER=libcuda.so.1 those that ask nothing of the test driver run on a GPU.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "device/same_bits.h"
#include "support/cuda_driver/chosen.h"
#include "support/cuda_driver/controls.h"

namespace pel::test {

inline const DeviceInfo& cuda_info() {
  static const std::vector<DeviceInfo> all = devices();
  return *std::ranges::find(all, kCuda, &DeviceInfo::device);
}

class OnCuda : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string& refusal = cuda_info().refusal; !refusal.empty()) GTEST_SKIP() << refusal;
    driver_ = dlopen(std::getenv("PELLUCID_CUDA_DRIVER"), RTLD_NOW | RTLD_NOLOAD);
    ASSERT_NE(driver_, nullptr);
  }
  // A function of the test driver; null: the driver is another one.
  template <class F>
  F control(const char* name) const {
    return reinterpret_cast<F>(dlsym(driver_, name));
  }
  static std::string difference(const Tensor& wanted, const Tensor& given) {
    return difference_on(kCuda, wanted, given);
  }
  void* driver_ = nullptr;
};
#define PEL_CONTROL(name)                                                                   \
  const auto name = control<decltype(&::pel_test_driver_##name)>("pel_test_driver_" #name); \
  if (name == nullptr) GTEST_SKIP() << "the driver is not the one of the tests"

// The functions of a log of the driver, without their arguments.
inline std::string names_of_calls(const std::string& calls) {
  std::string list;
  for (std::size_t at = 0; at < calls.size(); at = calls.find('\n', at) + 1)
    list += (list.empty() ? "" : " ") + calls.substr(at, calls.find_first_of("(", at) - at);
  return list;
}

// Runs a test that is skipped otherwise. What the commands of a device that fails refer to is never freed.
inline int in_own_process(const std::string& variables, const char* test) {
  return std::system(
      fmt::format("ASAN_OPTIONS=detect_leaks=0 {} PELLUCID_TEST_ALONE=1 /proc/{}/exe --gtest_filter={}",
                  variables, getpid(), test)
          .c_str());
}
inline bool is_alone() { return std::getenv("PELLUCID_TEST_ALONE") != nullptr; }

}  // namespace pel::test
