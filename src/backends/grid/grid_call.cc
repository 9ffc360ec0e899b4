#include "backends/grid/grid_call.h"

namespace pel::grid {

FunctionHandle build_text(const Functions& functions, const std::string& name, const std::string& shown,
                          std::string text) {
  AsyncDevice& device = *launch_target().device;
  if (!functions.are_shared) return device.function(device.build({shown, std::move(text)}), name.c_str());
  static std::array<std::unordered_map<std::string, FunctionHandle>, kDeviceTypeCount> of_devices;
  auto& by_text = of_devices[target_index()];
  if (const auto found = by_text.find(text); found != by_text.end()) return found->second;
  const FunctionHandle made = device.function(device.build({shown, text}), name.c_str());
  by_text.emplace(std::move(text), made);
  return made;
}

}  // namespace pel::grid
