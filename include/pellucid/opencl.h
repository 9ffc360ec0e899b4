// The OpenCL device, and the calls that run on the CPU in place of a device. docs/devices.md says what is
// installed for it, and which ops have kernels of their own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pellucid/device.h"

namespace pel {

// The first GPU of any OpenCL platform, else the first device. devices() says why it cannot be used.
inline constexpr Device kOpenCl{DeviceType::OpenCl, 0};

// Calls of one op and line that had no kernel on a device, and ran on copies in the memory of the host. The
// first one of each is also reported on stderr.
struct DeviceFallback {
  std::string op;
  Site site{};  // line 0: not known
  std::string reason;
  std::uint64_t count = 0;
};
// Since the start or reset_device_stats, those with the most calls first.
PEL_API std::vector<DeviceFallback> device_fallbacks(Device device);

}  // namespace pel
