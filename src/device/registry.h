// The asynchronous devices of this process.
#pragma once

#include <memory>

#include "device/ordered_device.h"

namespace pel {

// By register_devices() alone.
void add_device(Device device, std::unique_ptr<AsyncDevice> backend);

// Adds the devices of all backends. Defined in src/runtime/, which alone knows them. Called once, by the
// first use of a device.
void register_devices();

OrderedDevice* find_device(Device device);  // null: the library was built without it
// Throws a DeviceError that says why the device cannot be used, and which can.
OrderedDevice& device_of(Device device);

// The type of device whose kernel lists and loop compiler a device runs: its own, or that of the one that it
// stands for.
inline DeviceType kernels_of(Device device) {
  return is_asynchronous(device) ? device_of(device).facts().kernels : device.type;
}

// Whether a device has kernels of its own. Then a call may have none there: it runs on the CPU, or in a
// compiled function is an error.
inline bool has_own_kernels(const OrderedDevice& device) {
  return device.facts().kernels != device.facts().fallback;
}

// The block of memory on a device; null if it has no elements.
inline DeviceBlock* block_of(const detail::StorageHeader& storage) {
  return static_cast<DeviceBlock*>(storage.context);
}

}  // namespace pel
