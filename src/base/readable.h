// Numbers with units, for people: four digits at most.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include <fmt/format.h>

namespace pel {

inline std::string scaled_by_1000(double value, const std::array<const char*, 5>& units) {
  std::size_t unit = 0;
  while (value >= 999.5 && unit + 1 < units.size()) {
    value /= 1000;
    ++unit;
  }
  if (unit == 0) return fmt::format("{:.0f} {}", value, units[0]);
  return fmt::format("{:.{}f} {}", value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0, units[unit]);
}

// 87 ns, 1.25 µs, 31.0 ms
template <class T>
std::string readable_ns(T ns) {
  return scaled_by_1000(static_cast<double>(ns), {"ns", "µs", "ms", "s", "ks"});
}
// 1.50 MB
template <class T>
std::string readable_bytes(T bytes) {
  return scaled_by_1000(static_cast<double>(bytes), {"B", "kB", "MB", "GB", "TB"});
}
// 2.15 G
template <class T>
std::string readable_count(T count) {
  std::string text = scaled_by_1000(static_cast<double>(count), {"", "k", "M", "G", "T"});
  if (text.back() == ' ') text.pop_back();
  return text;
}

}  // namespace pel
