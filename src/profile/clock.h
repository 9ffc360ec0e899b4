// The processor's time-stamp counter, and the line from its ticks to nanoseconds.
#pragma once

#include <cstdint>

#include "base/cpu.h"

namespace pel::profile {

// About 20 ns. Not ordered against the loads and stores around it: what is measured is long against that.
inline std::uint64_t ticks() { return time_stamp(); }

// One moment on both clocks.
struct Moment {
  std::uint64_t ticks = 0;
  std::int64_t steady_ns = 0, unix_ns = 0;
  static Moment now();
};

// Notes a first moment, once; the earlier the better.
void start_clock();
// Returns nanoseconds per tick since that moment. Waits until it is 10 ms ago.
double ns_per_tick();

}  // namespace pel::profile
