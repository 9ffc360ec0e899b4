// What bounds a step of many small kernels: the CPU that issues them, or the device that runs them.
//
// The CPU issues one op after the other, each in `dispatch`. The device runs their kernels in order, each in
// `kernel`, and starts no kernel before it is issued. An asynchronous device runs kernels while the CPU
// issues more; with a synchronous device, such as the CPU itself, the CPU waits for each kernel.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/terminal.h"

namespace pel::inspect {

enum class Waiting : bool { No, Yes };  // whether the CPU waits for each kernel

struct BudgetOptions {
  std::int64_t ops = 120;
  double dispatch_ns = 15'000, kernel_ns = 8'000;
  std::optional<std::int64_t> fused_to;   // number of kernels after fusion
  std::optional<double> fused_kernel_ns;  // time of each; none: the total kernel time does not change
  double replay_ns = 50;                  // to issue one kernel of a recorded graph
  double latency_ns = 0;                  // from the issue of a kernel to its start
  Waiting waiting = Waiting::No;
  std::string source;  // where the numbers come from; empty: the command line
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
  double knee_ns = 0;  // kernel time at which neither side waits for the other
  bool is_dispatch_bound = false;
  std::vector<Size> sizes;  // around the knee, smallest first; includes the requested one

  static Budget of(const BudgetOptions& options);  // throws a ValueError
  Size at(double kernel_ns) const;

  std::string verdict() const;  // in one sentence
  std::string text(const Terminal& terminal) const;
  std::string json() const;
  std::string svg() const;   // the plot, light and dark
  std::string html() const;  // a self-contained page with sliders
};

// Step time against kernel time, both logarithmic, in Braille.
std::string plot(const Budget& budget, const Terminal& terminal);

}  // namespace pel::inspect
