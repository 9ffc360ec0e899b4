// What rocprofv3 calls things, in its databases and in its traces.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace pel::doctor {

// "MEMORY_COPY_DEVICE_TO_HOST" as PyTorch's profiler writes it; any other name as it is.
inline std::string usual_copy_name(std::string_view name) {
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"HOST_TO_DEVICE", "Memcpy HtoD (Host -> Device)"},
      {"DEVICE_TO_HOST", "Memcpy DtoH (Device -> Host)"},
      {"DEVICE_TO_DEVICE", "Memcpy DtoD (Device -> Device)"},
      {"HOST_TO_HOST", "Memcpy HtoH (Host -> Host)"},
  };
  for (const auto& [piece, usual] : kNames)
    if (name.find(piece) != std::string_view::npos) return std::string(usual);
  return std::string(name);
}

// Sizes of grids are in work-items.
inline std::int64_t work_groups(std::int64_t items, std::int64_t group) {
  return group <= 0 || items <= 0 ? 0 : items / group + (items % group == 0 ? 0 : 1);
}

}  // namespace pel::doctor
