// PELLUCID_TEST_DEVICE=queue: tests whose operands are on this device, instead of the CPU.
#pragma once

#include <cstdlib>
#include <stdexcept>
#include <string>

#include "pellucid/ops.h"

namespace pel::test {

inline Device test_device() {
  static const Device device = [] {
    const char* text = std::getenv("PELLUCID_TEST_DEVICE");
    const std::string name = text == nullptr || *text == '\0' ? "cpu" : text;
    for (const DeviceInfo& info : devices())
      if (to_string(info.device) == name) return info.device;
    throw std::runtime_error("PELLUCID_TEST_DEVICE=" + name + " names no device of devices()");
  }();
  return device;
}

// A copy with the same strides on the test's device; the tensor itself if it is there.
inline Tensor on_test_device(const Tensor& t) { return test_device() == kCpu ? t : t.to(test_device()); }
// The same elements on the CPU.
inline Tensor on_host(const Tensor& t) { return is_asynchronous(t.device()) ? t.to(kCpu) : t; }

}  // namespace pel::test
