#include "doctor/analyses/capture.h"

#include <algorithm>

#include <fmt/format.h>

namespace pel::doctor {
namespace {

// Marked steps whose kernels or launch shapes are not those of the step before.
std::int64_t steps_that_differ(const Model& model) {
  if (!model.has_marked_steps()) return 0;
  std::vector<std::vector<std::pair<NameId, NameId>>> steps(model.steps().size());
  for (const Activity& activity : model.activities()) {
    if (activity.step >= steps.size() || model.events().category(activity.event) != Category::Kernel)
      continue;
    const DeviceArgs* args = model.events().device_args(activity.event);
    steps[activity.step].emplace_back(model.events().name_id(activity.event),
                                      args == nullptr ? 0 : args->shape);
  }
  std::int64_t differ = 0;
  const std::vector<std::pair<NameId, NameId>>* last = nullptr;
  for (auto& step : steps) {
    if (step.empty()) continue;
    std::ranges::sort(step);  // streams run side by side
    differ += last != nullptr && *last != step ? 1 : 0;
    last = &step;
  }
  return differ;
}

}  // namespace

std::vector<std::string> capture_blockers(const Examined& examined) {
  const EventTable& events = examined.model.events();
  std::int64_t waits = 0, items = 0, nonzeros = 0;
  for (EventId e = 0; e < events.size(); ++e) {
    if (events.is_call(e) && examined.time.is_wait(e) && examined.model.op_of(e) != kNoEvent) ++waits;
    if (events.category(e) != Category::CpuOp) continue;
    items += events.name(e) == "aten::_local_scalar_dense" ? 1 : 0;
    nonzeros += events.name(e) == "aten::nonzero" ? 1 : 0;
  }
  std::vector<std::string> texts;
  if (waits != 0) texts.push_back(fmt::format("waits for the device inside ops ({})", waits));
  if (items != 0) texts.push_back(fmt::format("values read by the host ({})", items));
  if (nonzeros != 0) texts.push_back(fmt::format("sizes that depend on values ({})", nonzeros));
  if (const std::int64_t differ = steps_that_differ(examined.model); differ != 0)
    texts.push_back(fmt::format("steps whose kernels or sizes differ from the step before ({})", differ));
  return texts;
}

}  // namespace pel::doctor
