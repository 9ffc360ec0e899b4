#include "inspect/devices.h"

#include <fmt/format.h>

#include "base/json_writer.h"
#include "base/readable.h"
#include "base/wrapped.h"

namespace pel::inspect {
namespace {
constexpr int kDeviceColumn = 10, kNameColumn = 30, kMemoryColumn = 10, kReasonColumns = 85;
}

std::string text(ArrayView<DeviceInfo> devices, const Terminal& terminal) {
  std::string text = terminal.bold(fmt::format("{}{}{}  {}", pad_right("device", kDeviceColumn),
                                               pad_right("name", kNameColumn),
                                               pad_left("memory", kMemoryColumn), "a call returns")) +
                     "\n";
  for (const DeviceInfo& device : devices) {
    text += fmt::format("{}{}{}  {}\n", pad_right(to_string(device.device), kDeviceColumn),
                        pad_right(device.name, kNameColumn),
                        pad_left(readable_bytes(static_cast<double>(device.memory_bytes)), kMemoryColumn),
                        device.is_asynchronous ? "when its kernels are queued" : "when its kernels have run");
    if (device.refusal.empty()) continue;
    for (const std::string& line : wrapped("cannot be used: " + device.refusal, kReasonColumns, 2))
      text += terminal.yellow(std::string(kDeviceColumn, ' ') + line) + "\n";
  }
  return text;
}

std::string json(ArrayView<DeviceInfo> devices) {
  JsonWriter json("pellucid.devices/1");
  json.key("devices").begin_array();
  for (const DeviceInfo& device : devices) {
    json.begin_object().field("device", to_string(device.device)).field("name", device.name);
    json.field("is_asynchronous", device.is_asynchronous).field("memory_bytes", device.memory_bytes);
    json.field("processors", device.processors).field("refusal", device.refusal).end_object();
  }
  json.end_array();
  return json.finish();
}

}  // namespace pel::inspect
