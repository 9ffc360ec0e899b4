// What bounds a step of many small kernels: the CPU that issues them, or the device that runs them.
//
// The CPU issues one op after the other, each in `dispatch`. The device runs their kernels in order, each in
// `kernel`, and starts no kernel before it is issued. An asynchronous device works while the CPU goes on; of
// a synchronous one, such as the CPU itself, the CPU waits for each kernel.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/terminal.h"

namespace pel::inspect {

enum class Waiting : bool { No, Yes };  // of the CPU, for each kernel

struct BudgetOptions {
  std::int64_t ops = 120;
  double dispatch_ns = 15'000, kernel_ns = 8'000;
  std::optional<std::int64_t> fused_to;   // kernels that do the work of all
  std::optional<double> fused_kernel_ns;  // of each; none: all the work as before
  double replay_ns = 50;                  // to issue one kernel of a graph that was recorded before
  double latency_ns = 0;                  // from a kernel's issue to its begin
  Waiting waiting = Waiting::No;
  std::string source;  // where the numbers are from; empty: given
};

struct Step {
  std::int64_t kernels = 0;
  double issue_ns = 0;   // the CPU's part
  double device_ns = 0;  // the kernels'
  double step_ns = 0;

  double device_busy() const { return step_ns > 0 ? device_ns / step_ns : 0; }
};

// `once` is issued before the first kernel: the launch of a graph.
Step step_of(std::int64_t kernels, double dispatch_ns, double kernel_ns, double once_ns, double latency_ns,
             Waiting waiting);

struct Budget {
  struct Size {
    double kernel_ns;
    Step now, replayed;
    std::optional<Step> fused;
  };

  BudgetOptions options;
  Step now, replayed;
  std::optional<Step> fused, fused_and_replayed;
  double knee_ns = 0;  // kernels of this time: neither waits for the other
  bool is_dispatch_bound = false;
  std::vector<Size> sizes;  // around the knee, smallest first; the given one among them

  static Budget of(const BudgetOptions& options);  // throws a ValueError
  Size at(double kernel_ns) const;

  std::string verdict() const;  // in one sentence
  std::string text(const Terminal& terminal) const;
  std::string json() const;
  std::string svg() const;   // the plot, light and dark
  std::string html() const;  // a page with sliders that needs nothing but itself
};

// Step time against kernel time, both logarithmic, in Braille.
std::string plot(const Budget& budget, const Terminal& terminal);

}  // namespace pel::inspect
