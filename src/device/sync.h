// Waits of the host for a device. All of them go through OrderedDevice::wait_for, which refuses them under
// ForbidSync and notes their reason, line and time.
#pragma once

#include "device/ordered_device.h"

namespace pel {

// The state of a thread that has used a device.
struct DeviceThread {
  std::uint8_t current_stream[kDeviceTypeCount] = {};
  Site forbids_waits{};  // line of the innermost ForbidSync; line 0: waits are allowed
};
DeviceThread& device_thread();

inline std::uint8_t current_stream_index(Device device) {
  return device_thread().current_stream[static_cast<int>(device.type)];
}

// Throws a SyncError under ForbidSync.
void check_may_wait(Device device, const WaitReason& reason);

// The line of the user's call that is under way, or else `site`.
Site waiting_site(const Site& site = {});

}  // namespace pel
