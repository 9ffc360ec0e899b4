#include "pellucid/device.h"

namespace pel {

std::string to_string(Device device) {
  static constexpr const char* kNames[kDeviceTypeCount] = {"cpu", "meta", "opencl", "cuda", "queue"};
  const std::string text = kNames[static_cast<int>(device.type)];
  const bool has_number = device.type == DeviceType::OpenCl || device.type == DeviceType::Cuda;
  return has_number ? text + ":" + std::to_string(device.index) : text;
}

}  // namespace pel
