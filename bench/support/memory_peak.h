// How far the memory of this process grows while something runs.
#pragma once

#include <fstream>
#include <stdexcept>
#include <string>

#include <malloc.h>

namespace bench {
namespace detail {

// VmRSS, what is resident now, or VmHWM, the most that was; in bytes.
inline double memory_bytes(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(field + ":")) return std::stod(line.substr(field.size() + 1)) * 1024;
  throw std::runtime_error("/proc/self/status has no " + field);
}

}  // namespace detail

// In bytes of resident memory, above what is resident before. Let caches of free memory be given back first.
template <class Run>
double memory_peak(const Run& run) {
  malloc_trim(0);
  if (!(std::ofstream("/proc/self/clear_refs") << 5 << std::flush))  // VmHWM begins anew
    throw std::runtime_error("/proc/self/clear_refs cannot be written: the peak cannot be reset");
  const double before = detail::memory_bytes("VmRSS");
  run();
  return detail::memory_bytes("VmHWM") - before;
}

}  // namespace bench
