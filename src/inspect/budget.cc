#include "inspect/budget.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "pellucid/error.h"

namespace pel::inspect {
namespace {

void check(bool holds, const std::string& rule) {
  if (!holds) throw ValueError("budget: " + rule);
}

}  // namespace

Step step_of(std::int64_t kernels, double dispatch_ns, double kernel_ns, double once_ns, double latency_ns,
             Waiting waiting) {
  const auto count = static_cast<double>(kernels);
  Step step{kernels, once_ns + count * dispatch_ns, count * kernel_ns, 0};
  // The slower of the two sets the pace from the second kernel on; the first is issued, and the last run,
  // alone.
  step.step_ns = waiting == Waiting::Yes ? step.issue_ns + step.device_ns + count * latency_ns
                                         : once_ns + dispatch_ns + latency_ns +
                                               (count - 1) * std::max(dispatch_ns, kernel_ns) + kernel_ns;
  return step;
}

Budget::Size Budget::at(double kernel_ns) const {
  const BudgetOptions& o = options;
  Size size{kernel_ns, step_of(o.ops, o.dispatch_ns, kernel_ns, 0, o.latency_ns, o.waiting),
            step_of(o.ops, o.replay_ns, kernel_ns, o.dispatch_ns, o.latency_ns, o.waiting), std::nullopt};
  if (o.fused_to) {
    // A fused kernel time from the command line scales with the others.
    const double work = static_cast<double>(o.ops) / static_cast<double>(*o.fused_to) * kernel_ns;
    const double fused_ns = o.fused_kernel_ns ? *o.fused_kernel_ns * kernel_ns / o.kernel_ns : work;
    size.fused = step_of(*o.fused_to, o.dispatch_ns, fused_ns, 0, o.latency_ns, o.waiting);
  }
  return size;
}

Budget Budget::of(const BudgetOptions& o) {
  check(o.ops >= 1, "--ops must be at least 1");
  check(o.dispatch_ns > 0, "--dispatch, the time to issue one op, must be above 0");
  check(o.kernel_ns > 0, "--kernel, the time of one kernel, must be above 0");
  check(!o.fused_to || (*o.fused_to >= 1 && *o.fused_to <= o.ops),
        fmt::format("--fused-to must be between 1 and the number of ops, {}", o.ops));
  check(!o.fused_kernel_ns || o.fused_to,
        "--fused-kernel is the time of each kernel of --fused-to: pass both options");
  Budget budget;
  budget.options = o;
  const Size requested = budget.at(o.kernel_ns);
  budget.now = requested.now;
  budget.replayed = requested.replayed;
  budget.fused = requested.fused;
  if (o.fused_to) {
    const double fused_ns = requested.fused->device_ns / static_cast<double>(*o.fused_to);
    budget.fused_and_replayed =
        step_of(*o.fused_to, o.replay_ns, fused_ns, o.dispatch_ns, o.latency_ns, o.waiting);
  }
  budget.knee_ns = o.dispatch_ns;
  budget.is_dispatch_bound = o.dispatch_ns > o.kernel_ns;
  std::vector<double> kernels = {o.kernel_ns};
  for (int power = -4; power <= 4; ++power) {
    const double kernel = std::ldexp(o.dispatch_ns, power);
    if (std::abs(kernel - o.kernel_ns) > 1e-9 * kernel) kernels.push_back(kernel);
  }
  std::sort(kernels.begin(), kernels.end());
  for (const double kernel : kernels) budget.sizes.push_back(budget.at(kernel));
  return budget;
}

std::string Budget::verdict() const {
  const auto percent = [](double share) { return fmt::format("{:.0f} %", 100 * share); };
  if (options.waiting == Waiting::Yes) {
    return fmt::format("The CPU waits for each kernel, so every dispatch counts: together {} of the step.",
                       percent(now.issue_ns / now.step_ns));
  }
  if (is_dispatch_bound) {
    return fmt::format("Bound by dispatch: the device is busy for {} of {}, and idle for {} of the step.",
                       readable_ns(now.device_ns), readable_ns(now.step_ns), percent(1 - now.device_busy()));
  }
  return fmt::format(
      "Bound by kernels: the CPU runs ahead after {}, and the device is busy for {} of the step.",
      readable_ns(now.issue_ns), percent(now.device_busy()));
}

}  // namespace pel::inspect
