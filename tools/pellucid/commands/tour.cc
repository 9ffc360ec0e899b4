// pellucid tour: lessons about where time goes, run on this machine.
#include "inspect/tour.h"

#include <memory>

#include <fmt/format.h>

#include "command.h"

namespace pel::tool {
namespace {

struct TourOptions {
  std::string step;
  bool wants_list = false, is_quick = false;
};

void take(const TourOptions& asked, Context& context) {
  if (asked.wants_list) return context.print(inspect::step_list(context.terminal));
  const inspect::TourStep* only = inspect::find_step(asked.step);
  if (!asked.step.empty() && only == nullptr)
    throw CLI::ValidationError(fmt::format("there is no lesson '{}'; --list shows all lessons", asked.step));
  std::vector<inspect::TakenStep> taken;
  for (const inspect::TourStep& step : inspect::tour_steps()) {
    if (only != nullptr && only != &step) continue;
    if (!context.wants_json) context.print(inspect::heading(step, context.terminal));  // before the run
    std::fflush(stdout);
    taken.push_back({&step, step.find(asked.is_quick ? inspect::Pace::Quick : inspect::Pace::Whole)});
    if (!taken.back().finding.holds) context.exit_code = kDoesNotHold;
    if (!context.wants_json) context.print(inspect::text(taken.back().finding, context.terminal));
  }
  if (context.wants_json) {
    context.print(inspect::json(taken));
  } else if (only == nullptr) {
    context.print(inspect::summary(taken, context.terminal));
  }
}

}  // namespace

void add_tour(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("tour", "Run lessons about where time goes on this machine");
  auto asked = std::make_shared<TourOptions>();
  command->add_option("step", asked->step, "Name or number of one lesson; all by default");
  command->add_flag("--list", asked->wants_list, "List the lessons");
  command->add_flag("--quick", asked->is_quick, "Smaller sizes and fewer repeats");
  command->callback([&context, asked] { take(*asked, context); });
}

}  // namespace pel::tool
