#include "pellucid/device.h"

namespace pel {

std::string to_string(Device device) {
  static constexpr const char* kNames[kDeviceTypeCount] = {"cpu", "meta", "opencl", "cuda"};
  const std::string text = kNames[static_cast<int>(device.type)];
  return device.type == DeviceType::Cpu || device.type == DeviceType::Meta
             ? text
             : text + ":" + std::to_string(device.index);
}

}  // namespace pel
