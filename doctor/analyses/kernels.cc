// Which kernels ran, how often in a step, and which ops asked for them.
#include <algorithm>

#include <fmt/format.h>

#include "base/readable.h"
#include "base/sort_stably.h"
#include "doctor/analyses/analysis.h"
#include "doctor/analyses/sums.h"
#include "doctor/model/saturating.h"

namespace pel::doctor {
namespace {

constexpr std::size_t kMostInOrder = 10'000;  // works of a step that are listed one by one

struct Runs {
  std::int64_t count = 0;
  SaturatingSum ns;
};
struct StepCounts {
  std::int64_t kernels = 0, copies = 0, fills = 0, launches = 0;
  SaturatingSum kernel_ns;
  EventId last_launch = kNoEvent;
};

bool is_kernel(const EventTable& events, const Work& work) {
  return events.category(work.event) == Category::Kernel;
}

std::string title_of(const Examined& examined, EventId work) {
  const EventTable& events = examined.model.events();
  return events.category(work) == Category::Kernel ? examined.kernels.of(work).title
                                                   : std::string(events.name(work));
}

std::string chain_of(const Model& model, const Work& work) {
  if (work.launch == kNoEvent) {
    const EventId op = model.op_of_work(work);
    return op == kNoEvent ? std::string("(launched before the trace)") : model.op_chain(op);
  }
  std::string chain = model.op_chain(work.launch);
  return chain.empty() ? fmt::format("({})", model.events().name(work.launch)) : chain;
}

Table steps_of(const Examined& examined) {
  const Model& model = examined.model;
  std::vector<StepCounts> counts(model.steps().size());
  for (const Work& work : model.work()) {
    if (work.step >= counts.size()) continue;
    StepCounts& step = counts[work.step];
    switch (model.events().category(work.event)) {
      case Category::Kernel:
        ++step.kernels;
        step.kernel_ns += work.end_ns - work.begin_ns;
        break;
      case Category::Memcpy:
        ++step.copies;
        break;
      default:
        ++step.fills;
        break;
    }
    if (work.launch != step.last_launch) ++step.launches;
    step.last_launch = work.launch;
  }
  Table table{.key = "steps",
              .title = "in each step, by the time of the launch",
              .columns = {{"step", "step", Unit::None, true},
                          {"host_ns", "on the host", Unit::Nanoseconds},
                          {"kernels", "kernels", Unit::Count},
                          {"memcpy", "copies", Unit::Count},
                          {"memset", "fills", Unit::Count},
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
  for (const Work& work : examined.model.work()) {
    if (!is_kernel(examined.model.events(), work)) continue;
    Runs& runs = families[examined.kernels.family(work.event)];
    ++runs.count;
    runs.ns += work.end_ns - work.begin_ns;
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

// By name and the ops that asked for it.
Table by_origin(const Examined& examined, std::int64_t total_ns) {
  const Model& model = examined.model;
  std::map<std::pair<NameId, std::string>, Runs> origins;
  std::map<std::pair<NameId, std::string>, EventId> examples;
  for (const Work& work : model.work()) {
    if (!is_kernel(model.events(), work)) continue;
    auto key = std::pair(model.events().name_id(work.event), chain_of(model, work));
    examples.try_emplace(key, work.event);
    Runs& runs = origins[std::move(key)];
    ++runs.count;
    runs.ns += work.end_ns - work.begin_ns;
  }
  Table table{.key = "kernels",
              .title = "by time, with the ops that asked for them",
              .columns = {{"time_ns", "time", Unit::Nanoseconds},
                          {"share", "share", Unit::Percent},
                          {"count", "runs", Unit::Count},
                          {"title", "kernel"},
                          {"chain", "asked for by", Unit::None, true},
                          {"name", "", Unit::None}},
              .rows = {}};
  for (const auto& [key, runs] : by_largest(origins, [](const Runs& r) { return r.ns; }))
    table.rows.push_back({runs->ns, percent_of(runs->ns, total_ns), runs->count,
                          examined.kernels.of(examples.at(*key)).title, key->second,
                          std::string(model.events().names[key->first])});
  return table;
}

// The works of one step in the order of their launches: the last but one, since the last may be cut off.
std::optional<Table> in_order(const Examined& examined) {
  const Model& model = examined.model;
  if (model.steps().empty()) return std::nullopt;
  const std::size_t steps = model.steps().size();
  const std::size_t chosen = steps >= 2 ? steps - 2 : 0;
  std::vector<const Work*> works;
  for (const Work& work : model.work()) {
    if (work.step == chosen) works.push_back(&work);
  }
  if (works.empty() || works.size() > kMostInOrder) return std::nullopt;
  const auto asked_at = [&](const Work& work) {
    return work.launch == kNoEvent ? work.begin_ns : model.events().begin_ns(work.launch);
  };
  sort_stably(works, [&](const Work* a, const Work* b) { return asked_at(*a) < asked_at(*b); });
  Table table{.key = "in_order",
              .title = fmt::format("in order: {}", model.steps()[chosen].name),
              .columns = {{"number", "#", Unit::Count},
                          {"time_ns", "time", Unit::Nanoseconds},
                          {"delay_ns", "in queue", Unit::Nanoseconds},
                          {"stream", "stream", Unit::Count},
                          {"title", "kernel"},
                          {"chain", "asked for by", Unit::None, true}},
              .rows = {},
              .shown = 12};
  for (const Work* work : works) {
    Value delay;  // not known without a launch
    if (work->launch != kNoEvent)
      delay = std::max<std::int64_t>(0, work->begin_ns - model.events().end_ns(work->launch));
    table.rows.push_back({static_cast<std::int64_t>(table.rows.size() + 1), work->end_ns - work->begin_ns,
                          delay, std::int64_t{work->stream}, title_of(examined, work->event),
                          chain_of(model, *work)});
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
  for (const Work& work : model.work()) {
    if (!is_kernel(model.events(), work)) continue;
    ++kernels;
    total_ns += work.end_ns - work.begin_ns;
    short_ones += work.end_ns - work.begin_ns < kShortNs ? 1 : 0;
    attributed += model.op_of_work(work) != kNoEvent ? 1 : 0;
    ++names[model.events().name_id(work.event)];
  }
  if (kernels == 0) return std::nullopt;
  Finding finding{.key = "kernels", .title = "Kernels"};
  finding.facts = {
      {"kernels", "kernels", kernels, Unit::Count},
      {"names", "different names", static_cast<std::int64_t>(names.size()), Unit::Count},
      {"time_ns", "their time", total_ns, Unit::Nanoseconds},
      {"mean_ns", "of one, on average", total_ns / kernels, Unit::Nanoseconds},
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
