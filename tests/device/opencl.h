// What tests of the OpenCL device share.
#pragma once

#include <string>

#include <gtest/gtest.h>

#include "pellucid/pellucid.h"

#include "device/same_bits.h"

namespace pel::test {

inline std::string opencl_refusal() {
  for (const DeviceInfo& info : devices())
    if (info.device == kOpenCl) return info.refusal;
  return "the library was built without OpenCL's headers";
}

// Skips a test where there is no device.
class OpenClTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string refusal = opencl_refusal(); !refusal.empty()) GTEST_SKIP() << refusal;
  }
};

inline std::string difference_on_opencl(const Tensor& wanted, const Tensor& given) {
  return difference_on(kOpenCl, wanted, given);
}
// One line for each op that ran on the CPU since reset_device_stats().
inline std::string fallbacks_on_opencl() {
  std::string text;
  for (const DeviceFallback& each : device_fallbacks(kOpenCl)) text += each.op + ": " + each.reason + "\n";
  return text;
}

}  // namespace pel::test
