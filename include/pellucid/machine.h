// What this machine can do at most: the roofs that a kernel's rates are held against.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "pellucid/api.h"
#include "pellucid/dtype.h"

namespace pel {

// One level of memory, as all threads together reach it.
struct MemoryLevel {
  std::string name;        // L1, L2, L3, memory
  std::int64_t bytes = 0;  // in all; of memory 0: it holds everything
  double gb_per_s = 0;     // read and written
};

struct ComputePeak {
  DType dtype = DType::F32;
  double gflop_per_s = 0;
  std::string by;  // the instruction that reaches it
};

struct Machine {
  std::string cpu;
  std::string isa;  // what PELLUCID_ISA asks for; empty: all that the processor has
  int threads = 0;
  std::vector<MemoryLevel> levels;  // smallest first
  std::vector<ComputePeak> peaks;

  // The level that holds so many bytes.
  PEL_API const MemoryLevel& level_of(std::uint64_t bytes) const;
  PEL_API double gflop_per_s(DType dtype) const;  // of a dtype that is computed in f32, f32's
  // The time below which no kernel with so much to move and to compute can stay.
  PEL_API double roof_ns(std::uint64_t bytes, std::uint64_t flops, DType dtype) const;

  // What was measured before on this processor, with as many threads and the same instructions; none: nobody
  // has. Asked anew each time.
  PEL_API static std::optional<Machine> known();
  // Takes two seconds. Tells what it measures, and the share that is done. From then on it is known.
  PEL_API static Machine measure(const std::function<void(const char* what, double done)>& progress = {});
  // Where it is kept: PELLUCID_MACHINE, or machine.txt in the user's cache directory.
  PEL_API static std::string path();
};

}  // namespace pel
