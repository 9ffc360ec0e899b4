#include <algorithm>

#include <fmt/format.h>

#include "base/json_writer.h"
#include "inspect/budget.h"

namespace pel::inspect {
namespace {

std::string times(double gain) { return fmt::format("{:.2f}×", gain); }
std::string percent(double share) { return fmt::format("{:.0f} %", 100 * share); }

std::string row(const std::string& name, const std::string& launches, const std::string& issue,
                const std::string& device, const std::string& busy, const std::string& step,
                const std::string& gain) {
  return fmt::format("{}{}{}{}{}{}{}\n", pad_right(name, 26), pad_left(launches, 9), pad_left(issue, 13),
                     pad_left(device, 14), pad_left(busy, 13), pad_left(step, 12), pad_left(gain, 9));
}

std::string size_row(const std::string& kernel, const std::string& step, const std::string& busy,
                     const std::string& fused, const std::string& replayed, const std::string& mark) {
  return fmt::format("{}{}{}{}{}{}\n", pad_left(kernel, 12), pad_left(step, 12), pad_left(busy, 14),
                     pad_left(fused, 10), pad_left(replayed, 11), mark.empty() ? "" : "   " + mark);
}

void write_step(JsonWriter& json, std::string_view key, const std::optional<Step>& step, double now_ns) {
  json.key(key);
  if (!step) {
    json.null();
    return;
  }
  json.begin_object().field("kernels", step->kernels).field("issue_ns", step->issue_ns);
  json.field("device_ns", step->device_ns).field("step_ns", step->step_ns);
  json.field("gain", now_ns / step->step_ns).end_object();
}

}  // namespace

std::string Budget::text(const Terminal& terminal) const {
  const BudgetOptions& o = options;
  std::string out = fmt::format(
      "{} ops, {} to issue each, {} in each kernel; {}\n", o.ops, readable_ns(o.dispatch_ns),
      readable_ns(o.kernel_ns),
      o.waiting == Waiting::Yes ? "the CPU waits for each kernel" : "the CPU does not wait for the device");
  if (!o.source.empty())
    out += terminal.dim("from " + pad_right(o.source, std::min(columns_of(o.source), terminal.columns - 5))) +
           '\n';
  out += '\n';
  const std::string sentence = verdict();
  out += (is_dispatch_bound || o.waiting == Waiting::Yes ? terminal.yellow(sentence)
                                                         : terminal.green(sentence)) +
         "\n";
  if (o.waiting == Waiting::No) {
    out += is_dispatch_bound
               ? fmt::format("The crossover is at kernels of {}, {:.1f} times as long as these.\n",
                             readable_ns(knee_ns), knee_ns / o.kernel_ns)
               : fmt::format("The crossover is at kernels of {}, {:.1f} times shorter than these.\n",
                             readable_ns(knee_ns), o.kernel_ns / knee_ns);
  } else {
    out += fmt::format("Dispatch falls under 10 % of the step with kernels of {}.\n",
                       readable_ns(9 * o.dispatch_ns));
  }
  out += '\n';
  out += terminal.dim(row("", "kernels", "CPU time", "device time", "device busy", "step", "gain"));
  const auto add = [&](const std::string& name, const Step& step) {
    out += row(name, std::to_string(step.kernels), readable_ns(step.issue_ns), readable_ns(step.device_ns),
               percent(step.device_busy()), readable_ns(step.step_ns),
               &step == &now ? "" : times(now.step_ns / step.step_ns));
  };
  add("as it is", now);
  if (fused) add(fmt::format("fused to {}", *o.fused_to), *fused);
  add("replayed", replayed);
  if (fused_and_replayed) add("fused and replayed", *fused_and_replayed);
  out += terminal.dim(fmt::format(
      "\nfused: {}\nreplayed: a recorded graph is launched once, then {} for each kernel\n\n",
      !o.fused_to ? "pass --fused-to N to see the step with N kernels instead of these"
      : o.fused_kernel_ns
          ? fmt::format("kernels of {} each", readable_ns(*o.fused_kernel_ns))
          : "the same total kernel time in fewer kernels; savings in memory traffic are not included",
      readable_ns(o.replay_ns)));
  out += plot(*this, terminal) + '\n';
  out += terminal.dim(size_row("kernel", "step", "device busy", fused ? "fused" : "", "replayed", ""));
  for (const Size& size : sizes) {
    const bool is_here = size.kernel_ns == o.kernel_ns, is_knee = size.kernel_ns == knee_ns;
    const std::string line =
        size_row(readable_ns(size.kernel_ns), readable_ns(size.now.step_ns), percent(size.now.device_busy()),
                 size.fused ? times(size.now.step_ns / size.fused->step_ns) : "",
                 times(size.now.step_ns / size.replayed.step_ns),
                 is_here && is_knee ? "◀ yours, and the crossover"
                 : is_here          ? "◀ yours"
                 : is_knee          ? "◀ the crossover"
                                    : "");
    out += is_here ? terminal.bold(line) : line;
  }
  return out;
}

std::string Budget::json() const {
  const BudgetOptions& o = options;
  JsonWriter json("pellucid.budget/1");
  json.field("ops", o.ops).field("dispatch_ns", o.dispatch_ns).field("kernel_ns", o.kernel_ns);
  json.field("replay_ns", o.replay_ns).field("latency_ns", o.latency_ns);
  json.field("is_synchronous", o.waiting == Waiting::Yes).field("source", o.source);
  json.field("bound_by", o.waiting == Waiting::Yes ? "both" : is_dispatch_bound ? "dispatch" : "kernels");
  json.field("knee_kernel_ns", knee_ns);
  write_step(json, "now", now, now.step_ns);
  write_step(json, "fused", fused, now.step_ns);
  write_step(json, "replayed", replayed, now.step_ns);
  write_step(json, "fused_and_replayed", fused_and_replayed, now.step_ns);
  json.key("sizes").begin_array();
  for (const Size& size : sizes) {
    json.begin_object().field("kernel_ns", size.kernel_ns).field("step_ns", size.now.step_ns);
    json.field("device_busy", size.now.device_busy()).field("replayed_step_ns", size.replayed.step_ns);
    json.key("fused_step_ns");
    size.fused ? json.value(size.fused->step_ns) : json.null();
    json.end_object();
  }
  return json.end_array().finish();
}

}  // namespace pel::inspect
