// The time of a kernel, measured.
#pragma once

#include <chrono>

namespace pel {

// Returns the nanoseconds of the fastest of several runs, after one that warms up.
template <class F>
double fastest_run_ns(F&& run) {
  using Clock = std::chrono::steady_clock;
  constexpr int kRuns = 5;
  constexpr double kLongNs = 200e6;  // a run this long is not repeated
  double fastest = 0;
  for (int i = 0; i <= kRuns; ++i) {
    const auto begin = Clock::now();
    run();
    const double ns = std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
    if (i == 1 || (i > 1 && ns < fastest)) fastest = ns;
    if (ns > kLongNs && i > 0) break;
  }
  return fastest;
}

}  // namespace pel
