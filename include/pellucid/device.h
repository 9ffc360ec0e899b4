// The device that holds a tensor and runs its kernels.
#pragma once

#include <cstdint>
#include <string>

#include "pellucid/api.h"

namespace pel {

// Meta holds sizes without data: shape rules run on it and kernels do not.
enum class DeviceType : std::uint8_t { Cpu = 0, Meta = 1, OpenCl = 2, Cuda = 3 };
inline constexpr int kDeviceTypeCount = 4;

struct Device {
  DeviceType type = DeviceType::Cpu;
  std::uint8_t index = 0;
  constexpr bool operator==(const Device&) const = default;
};
inline constexpr Device kCpu{DeviceType::Cpu, 0};
inline constexpr Device kMeta{DeviceType::Meta, 0};

PEL_API std::string to_string(Device device);  // "cpu", "cuda:1"

// An ordered queue of kernels on one device. On the CPU a launch returns when the kernel has run.
class PEL_API Stream {
 public:
  constexpr explicit Stream(Device device) : device_(device) {}
  constexpr Device device() const { return device_; }

 private:
  Device device_;
};

}  // namespace pel
