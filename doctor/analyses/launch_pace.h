// The rate at which kernels were launched, and how long they ran: the input of a step's budget.
#pragma once

#include <cstdint>
#include <string>

#include "doctor/readers/byte_source.h"

namespace pel::doctor {

struct LaunchPace {
  std::uint64_t launches = 0;  // whose kernels are in the trace, too; that of a graph has many
  std::uint64_t kernels = 0;
  std::uint64_t steps = 1;   // marked as ProfilerStep#N
  double dispatch_ns = 0;    // of one launch, on average: from the one before it, less what was waited
  double kernel_ns = 0;      // of one launch, on average: all its kernels
  double span_ns = 0;        // from the first launch to the end of the last kernel
  std::uint64_t pauses = 0;  // far longer than the others, and left out: the step did not go on
  bool is_synchronous =
      false;  // kernels ran inside their launches: the CPU waited for each, or ran it itself
};

// A FileError where the file cannot be read, or has no kernel with its launch.
LaunchPace launch_pace(const std::string& path);
LaunchPace launch_pace(ByteSource& source);

}  // namespace pel::doctor
