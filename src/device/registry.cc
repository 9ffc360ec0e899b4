#include "device/registry.h"

#include <array>
#include <vector>

#include <sys/sysinfo.h>

#include "base/check.h"
#include "base/processors.h"
#include "device/sync.h"
#include "profile/session.h"

namespace pel {
namespace {

// Never destroyed: tensors in static variables are freed after everything else.
struct Devices {
  std::vector<std::unique_ptr<OrderedDevice>> all;
  std::array<OrderedDevice*, kDeviceTypeCount> first{};  // with index 0
};
Devices& storage() {
  static auto* const instance = new Devices;
  return *instance;
}
Devices& registered() {
  [[maybe_unused]] static const bool is_registered = [] {
    register_devices();
    return true;
  }();
  return storage();
}

}  // namespace

void add_device(Device device, std::unique_ptr<AsyncDevice> backend) {
  if (backend == nullptr) return;  // the library was built without it
  OrderedDevice* const added =
      storage().all.emplace_back(std::make_unique<OrderedDevice>(device, std::move(backend))).get();
  if (device.index == 0) storage().first[static_cast<std::size_t>(device.type)] = added;
  profile::drain_devices.store(
      [] {
        for (const auto& each : registered().all) each->drain();
      },
      std::memory_order_release);
}

OrderedDevice* find_device(Device device) {
  Devices& devices = registered();
  if (device.index == 0) return devices.first[static_cast<std::size_t>(device.type)];
  for (const auto& each : devices.all)
    if (each->device() == device) return each.get();
  return nullptr;
}

OrderedDevice& device_of(Device device) {
  OrderedDevice* const found = find_device(device);
  if (found != nullptr && found->facts().refusal.empty()) [[likely]]
    return *found;
  PEL_CHECK(found != nullptr, DeviceError, "no backend for device {} is built in", to_string(device));
  std::string usable = to_string(kCpu);
  for (const auto& each : registered().all)
    if (each->facts().refusal.empty()) usable += ", " + to_string(each->device());
  throw DeviceError(fmt::format("{} cannot be used: {}; the devices that can are {}", to_string(device),
                                found->facts().refusal, usable));
}

std::vector<DeviceInfo> devices() {
  struct sysinfo memory{};
  sysinfo(&memory);
  std::vector<DeviceInfo> list = {{kCpu, "CPU", false,
                                   static_cast<std::int64_t>(memory.totalram * memory.mem_unit),
                                   available_processors(), ""}};
  for (const auto& each : registered().all) {
    const DeviceFacts& facts = each->facts();
    list.push_back({each->device(), facts.name, true, facts.memory_bytes, facts.processors, facts.refusal});
  }
  return list;
}

DeviceStats device_stats(Device device) {
  return is_asynchronous(device) ? device_of(device).stats() : DeviceStats{};
}
std::vector<DeviceWait> device_waits(Device device) {
  return is_asynchronous(device) ? device_of(device).waits() : std::vector<DeviceWait>();
}
std::vector<DeviceFallback> device_fallbacks(Device device) {
  return is_asynchronous(device) ? device_of(device).fallbacks() : std::vector<DeviceFallback>();
}
void reset_device_stats(Device device) {
  if (is_asynchronous(device)) device_of(device).reset_stats();
}

}  // namespace pel
