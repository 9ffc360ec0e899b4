// Measures how much the memory of this process grows while something runs.
#pragma once

#include <fstream>
#include <stdexcept>
#include <string>

#include <malloc.h>

namespace bench {
namespace detail {

// Returns VmRSS, the resident size now, or VmHWM, its peak; in bytes.
inline double memory_bytes(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(field + ":")) return std::stod(line.substr(field.size() + 1)) * 1024;
  throw std::runtime_error("/proc/self/status has no " + field);
}

}  // namespace detail

// Returns the peak in bytes above the resident size before. Release cached free memory first.
template <class Run>
double memory_peak(const Run& run) {
  malloc_trim(0);
  if (!(std::ofstream("/proc/self/clear_refs") << 5 << std::flush))  // resets VmHWM
    throw std::runtime_error("/proc/self/clear_refs cannot be written: the peak cannot be reset");
  const double before = detail::memory_bytes("VmRSS");
  run();
  return detail::memory_bytes("VmHWM") - before;
}

}  // namespace bench
