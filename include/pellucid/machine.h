// The peak rates of this machine, which the profiler compares kernels with: a roofline.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "pellucid/api.h"
#include "pellucid/dtype.h"

namespace pel {

// One level of memory; the bandwidth is that of all threads together.
struct MemoryLevel {
  std::string name;        // L1, L2, L3, memory
  std::int64_t bytes = 0;  // in all; 0 for main memory
  double gb_per_s = 0;     // read and written
};

struct ComputePeak {
  DType dtype = DType::F32;
  double gflop_per_s = 0;
  std::string by;  // the instruction that reaches it
};

struct Machine {
  std::string cpu;
  std::string isa;  // value of PELLUCID_ISA; empty: everything that the processor supports
  int threads = 0;
  std::vector<MemoryLevel> levels;  // smallest first
  std::vector<ComputePeak> peaks;
  // From the call of a loop until another thread runs a piece of it: a worker that is parked, and one that
  // spins. 0 if there is one thread.
  double wake_ns = 0, join_ns = 0;

  // Returns the smallest level that holds `bytes`.
  PEL_API const MemoryLevel& level_of(std::uint64_t bytes) const;
  PEL_API double gflop_per_s(DType dtype) const;  // that of f32 for dtypes that are computed in f32
  // Returns a lower bound for the time of a kernel that moves `bytes` and computes `flops`.
  PEL_API double roof_ns(std::uint64_t bytes, std::uint64_t flops, DType dtype) const;

  // Returns an earlier measurement of this processor with the same number of threads and the same
  // instructions, if there is one. Reads the file at each call.
  PEL_API static std::optional<Machine> known();
  // Measures for two seconds and stores the result for known(). `progress` gets the current step and the
  // share done.
  PEL_API static Machine measure(const std::function<void(const char* what, double done)>& progress = {});
  // The file with the measurements: PELLUCID_MACHINE, or machine.txt in the user's cache directory.
  PEL_API static std::string path();
};

}  // namespace pel
