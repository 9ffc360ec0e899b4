// Which kernels ran, how often per step, and which ops launched them.
#include <algorithm>

#include <fmt/format.h>

#include "base/readable.h"
#include "base/sort_stably.h"
#include "doctor/analyses/analysis.h"
#include "doctor/analyses/sums.h"
#include "doctor/model/saturating.h"

namespace pel::doctor {
namespace {

constexpr std::size_t kMaxInOrder = 10'000;  // activities of a step that are listed one by one

struct Runs {
  std::int64_t count = 0;
  SaturatingSum ns;
};
struct StepCounts {
  std::int64_t kernels = 0, copies = 0, fills = 0, launches = 0;
  SaturatingSum kernel_ns;
  EventId last_launch = kNoEvent;
};

bool is_kernel(const EventTable& events, const Activity& activity) {
  return events.category(activity.event) == Category::Kernel;
}

std::string title_of(const Examined& examined, EventId activity) {
  const EventTable& events = examined.model.events();
  return events.category(activity) == Category::Kernel ? examined.kernels.of(activity).title
                                                       : std::string(events.name(activity));
}

std::string chain_of(const Model& model, const Activity& activity) {
  if (activity.launch == kNoEvent) {
    const EventId op = model.op_of_activity(activity);
    return op == kNoEvent ? std::string("(launched before the trace)") : model.op_chain(op);
  }
  std::string chain = model.op_chain(activity.launch);
  return chain.empty() ? fmt::format("({})", model.events().name(activity.launch)) : chain;
}

Table steps_of(const Examined& examined) {
  const Model& model = examined.model;
  std::vector<StepCounts> counts(model.steps().size());
  for (const Activity& activity : model.activities()) {
    if (activity.step >= counts.size()) continue;
    StepCounts& step = counts[activity.step];
    switch (model.events().category(activity.event)) {
      case Category::Kernel:
        ++step.kernels;
        step.kernel_ns += activity.end_ns - activity.begin_ns;
        break;
      case Category::Memcpy:
        ++step.copies;
        break;
      default:
        ++step.fills;
        break;
    }
    if (activity.launch != step.last_launch) ++step.launches;
    step.last_launch = activity.launch;
  }
  Table table{.key = "steps",
              .title = "in each step, by the time of the launch",
              .columns = {{"step", "step", Unit::None, true},
                          {"host_ns", "host time", Unit::Nanoseconds},
                          {"kernels", "kernels", Unit::Count},
                          {"memcpy", "memcpys", Unit::Count},
                          {"memset", "memsets", Unit::Count},
                          {"launches", "launches", Unit::Count},
                          {"kernel_ns", "kernel time", Unit::Nanoseconds}},
              .rows = {}};
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const Step& step = model.steps()[i];
    table.rows.push_back({step.name, step.end_ns - step.begin_ns, counts[i].kernels, counts[i].copies,
                          counts[i].fills, counts[i].launches, counts[i].kernel_ns});
  }
  return table;
}

Table by_family(const Examined& examined, std::int64_t total_ns) {
  std::map<KernelFamily, Runs> families;
  for (const Activity& activity : examined.model.activities()) {
    if (!is_kernel(examined.model.events(), activity)) continue;
    Runs& runs = families[examined.kernels.family(activity.event)];
    ++runs.count;
    runs.ns += activity.end_ns - activity.begin_ns;
  }
  Table table{.key = "families",
              .title = "by family",
              .columns = {{"family", "family", Unit::None, true},
                          {"count", "kernels", Unit::Count},
                          {"time_ns", "time", Unit::Nanoseconds},
                          {"share", "of kernel time", Unit::Percent}},
              .rows = {}};
  for (const auto& [family, runs] : by_largest(families, [](const Runs& r) { return r.ns; }))
    table.rows.push_back({std::string(name(*family)), runs->count, runs->ns, percent_of(runs->ns, total_ns)});
  return table;
}

// By name and the ops that launched it.
Table by_origin(const Examined& examined, std::int64_t total_ns) {
  const Model& model = examined.model;
  std::map<std::pair<NameId, std::string>, Runs> origins;
  std::map<std::pair<NameId, std::string>, EventId> examples;
  for (const Activity& activity : model.activities()) {
    if (!is_kernel(model.events(), activity)) continue;
    auto key = std::pair(model.events().name_id(activity.event), chain_of(model, activity));
    examples.try_emplace(key, activity.event);
    Runs& runs = origins[std::move(key)];
    ++runs.count;
    runs.ns += activity.end_ns - activity.begin_ns;
  }
  Table table{.key = "kernels",
              .title = "by time, with the ops that launched them",
              .columns = {{"time_ns", "time", Unit::Nanoseconds},
                          {"share", "share", Unit::Percent},
                          {"count", "runs", Unit::Count},
                          {"title", "kernel"},
                          {"chain", "launched by", Unit::None, true},
                          {"name", "", Unit::None},
                          {"family", "", Unit::None}},
              .rows = {}};
  for (const auto& [key, runs] : by_largest(origins, [](const Runs& r) { return r.ns; }))
    table.rows.push_back({runs->ns, percent_of(runs->ns, total_ns), runs->count,
                          examined.kernels.of(examples.at(*key)).title, key->second,
                          std::string(model.events().names[key->first]),
                          word_of(examined.kernels.family(examples.at(*key)))});
  return table;
}

// The activities of one step in the order of their launches: the last but one, since the last may be cut off.
std::optional<Table> in_order(const Examined& examined) {
  const Model& model = examined.model;
  if (model.steps().empty()) return std::nullopt;
  const std::size_t steps = model.steps().size();
  const std::size_t chosen = steps >= 2 ? steps - 2 : 0;
  std::vector<const Activity*> activities;
  for (const Activity& activity : model.activities()) {
    if (activity.step == chosen) activities.push_back(&activity);
  }
  if (activities.empty() || activities.size() > kMaxInOrder) return std::nullopt;
  const auto launched_at = [&](const Activity& activity) {
    return activity.launch == kNoEvent ? activity.begin_ns : model.events().begin_ns(activity.launch);
  };
  sort_stably(activities,
              [&](const Activity* a, const Activity* b) { return launched_at(*a) < launched_at(*b); });
  Table table{.key = "in_order",
              .title = fmt::format("in order: {}", model.steps()[chosen].name),
              .columns = {{"number", "#", Unit::Count},
                          {"time_ns", "time", Unit::Nanoseconds},
                          {"delay_ns", "in queue", Unit::Nanoseconds},
                          {"stream", "stream", Unit::Count},
                          {"title", "kernel"},
                          {"chain", "launched by", Unit::None, true}},
              .rows = {},
              .shown = 12};
  for (const Activity* activity : activities) {
    Value delay;  // not known without a launch
    if (activity->launch != kNoEvent)
      delay = std::max<std::int64_t>(0, activity->begin_ns - model.events().end_ns(activity->launch));
    table.rows.push_back({static_cast<std::int64_t>(table.rows.size() + 1),
                          activity->end_ns - activity->begin_ns, delay, std::int64_t{activity->stream},
                          title_of(examined, activity->event), chain_of(model, *activity)});
  }
  return table;
}

}  // namespace

std::optional<Finding> analyse_kernels(const Examined& examined) {
  const Model& model = examined.model;
  std::int64_t kernels = 0, short_ones = 0, attributed = 0;
  SaturatingSum total_ns;
  std::map<NameId, std::int64_t> names;
  constexpr std::int64_t kShortNs = 10'000;
  for (const Activity& activity : model.activities()) {
    if (!is_kernel(model.events(), activity)) continue;
    ++kernels;
    total_ns += activity.end_ns - activity.begin_ns;
    short_ones += activity.end_ns - activity.begin_ns < kShortNs ? 1 : 0;
    attributed += model.op_of_activity(activity) != kNoEvent ? 1 : 0;
    ++names[model.events().name_id(activity.event)];
  }
  if (kernels == 0) return std::nullopt;
  Finding finding{.key = "kernels", .title = "Kernels"};
  finding.facts = {
      {"kernels", "kernels", kernels, Unit::Count},
      {"names", "distinct names", static_cast<std::int64_t>(names.size()), Unit::Count},
      {"time_ns", "time", total_ns, Unit::Nanoseconds},
      {"mean_ns", "mean duration", total_ns / kernels, Unit::Nanoseconds},
      {"short", "below 10 µs", percent_of(short_ones, kernels), Unit::Percent},
      {"attributed", "with a known op", percent_of(attributed, kernels), Unit::Percent},
  };
  finding.tables.push_back(steps_of(examined));
  finding.tables.push_back(by_family(examined, total_ns));
  finding.tables.push_back(by_origin(examined, total_ns));
  if (auto table = in_order(examined)) finding.tables.push_back(std::move(*table));
  return finding;
}

}  // namespace pel::doctor
