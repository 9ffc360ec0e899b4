// pellucid budget: whether a step is bound by dispatch or by kernels.
#include "inspect/budget.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>

#include <fmt/format.h>

#include "pellucid/error.h"

#include "command.h"
#include "doctor/analyses/launch_pace.h"
#include "inspect/duration.h"

namespace pel::tool {
namespace {

struct BudgetOptions {
  inspect::BudgetOptions budget;
  std::string dispatch = "15us", kernel = "8us", fused_kernel, replay = "50ns", latency = "0ns";
  std::string svg, html, profile;
  bool is_synchronous = false;
};

double duration_ns(const char* option, const std::string& text) {
  const auto ns = inspect::parse_duration_ns(text);
  if (!ns)
    throw CLI::ValidationError(option,
                               fmt::format("'{}' is not a duration; write 120ns, 15us, 8µs or 1.5ms", text));
  return *ns;
}

void write(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) throw FileError(path + ": cannot be written");
}

// Takes ops, dispatch and kernel times from a trace.
void take_from_trace(const std::string& path, inspect::BudgetOptions& budget) {
  const doctor::LaunchPace pace = doctor::launch_pace(path);
  if (pace.dispatch_ns <= 0 || pace.kernel_ns <= 0)
    throw FileError(fmt::format("{}: {} launches are too few to measure their rate", path, pace.launches));
  budget.ops = static_cast<std::int64_t>(std::max<std::uint64_t>(1, pace.launches / pace.steps));
  budget.dispatch_ns = pace.dispatch_ns;
  budget.kernel_ns = pace.kernel_ns;
  if (pace.is_synchronous) budget.waiting = inspect::Waiting::Yes;
  budget.source =
      fmt::format("{}: {} kernels by {} launches in {} step{} of {}",
                  std::filesystem::path(path).filename().string(), pace.kernels, pace.launches, pace.steps,
                  pace.steps == 1 ? "" : "s", readable_ns(pace.span_ns / static_cast<double>(pace.steps)));
  if (pace.pauses != 0)
    fmt::print(stderr, "pellucid: {} long pauses between launches are left out\n", pace.pauses);
}

void run(BudgetOptions& asked, Context& context) {
  inspect::BudgetOptions& budget = asked.budget;
  budget.dispatch_ns = duration_ns("--dispatch", asked.dispatch);
  budget.kernel_ns = duration_ns("--kernel", asked.kernel);
  budget.replay_ns = duration_ns("--replay", asked.replay);
  budget.latency_ns = duration_ns("--latency", asked.latency);
  if (!asked.fused_kernel.empty()) budget.fused_kernel_ns = duration_ns("--fused-kernel", asked.fused_kernel);
  if (asked.is_synchronous) budget.waiting = inspect::Waiting::Yes;
  if (!asked.profile.empty()) take_from_trace(asked.profile, budget);
  const auto result = inspect::Budget::of(budget);
  if (!asked.svg.empty()) write(asked.svg, result.svg());
  if (!asked.html.empty()) write(asked.html, result.html());
  context.print(context.wants_json ? result.json() : result.text(context.terminal));
}

}  // namespace

void add_budget(CLI::App& app, Context& context) {
  CLI::App* command =
      app.add_subcommand("budget", "Is a step bound by dispatch or by kernels, and what would change it");
  auto asked = std::make_shared<BudgetOptions>();
  const auto add_duration = [&](const char* name, std::string& text, const char* what) {
    return command->add_option(name, text, what)->type_name("DURATION")->capture_default_str();
  };
  CLI::Option* ops = command->add_option("--ops", asked->budget.ops, "Ops in a step, one kernel each")
                         ->capture_default_str();
  CLI::Option* dispatch = add_duration("--dispatch", asked->dispatch, "Time of the CPU to issue one op");
  CLI::Option* kernel = add_duration("--kernel", asked->kernel, "Time of the device to run one kernel");
  command->add_option("--fused-to", asked->budget.fused_to, "Number of kernels after fusion");
  add_duration("--fused-kernel", asked->fused_kernel,
               "Time of each fused kernel; by default the total kernel time does not change");
  add_duration("--replay", asked->replay, "Time to issue one kernel of a recorded graph");
  add_duration("--latency", asked->latency, "Time from the issue of a kernel to its start");
  command->add_flag("--synchronous", asked->is_synchronous,
                    "The CPU waits for each kernel, or runs them itself: times add up");
  command
      ->add_option("--profile", asked->profile,
                   "Take ops, dispatch and kernel from a trace that Pellucid or PyTorch wrote: averages")
      ->type_name("FILE")
      ->excludes(ops)
      ->excludes(dispatch)
      ->excludes(kernel);
  command->add_option("--svg", asked->svg, "Write the plot to this file")->type_name("FILE");
  command->add_option("--html", asked->html, "Write a page with sliders to this file")->type_name("FILE");
  command->callback([&context, asked] { run(*asked, context); });
}

}  // namespace pel::tool
