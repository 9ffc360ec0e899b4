// Where the time of the devices went, step by step and cause by cause.
#include <algorithm>

#include <fmt/format.h>

#include "base/readable.h"
#include "doctor/analyses/analysis.h"
#include "doctor/analyses/sums.h"
#include "doctor/analyses/verdict.h"
#include "doctor/model/saturating.h"

namespace pel::doctor {
namespace {

struct CauseSum {
  std::int64_t gaps = 0;
  SaturatingSum ns;
  std::map<std::string_view, SaturatingSum> blamed;
};

Table causes_table(const Examined& examined) {
  std::map<IdleCause, CauseSum> causes;
  for (const Gap& gap : examined.time.gaps()) {
    CauseSum& sum = causes[gap.cause];
    sum.ns += gap.duration_ns();
    ++sum.gaps;
    if (gap.blame != kNoEvent) sum.blamed[examined.model.events().name(gap.blame)] += gap.duration_ns();
  }
  Table table{.key = "idle",
              .title = "idle, by cause",
              .columns = {{"cause", "cause"},
                          {"time_ns", "time", Unit::Nanoseconds},
                          {"share", "of all", Unit::Percent},
                          {"gaps", "gaps", Unit::Count},
                          {"mostly", "mostly at", Unit::None, true}},
              .rows = {}};
  for (const auto& [cause, sum] : by_largest(causes, [](const CauseSum& s) { return s.ns; })) {
    const auto worst = by_largest(sum->blamed, [](std::int64_t ns) { return ns; });
    table.rows.push_back({std::string(name(*cause)), sum->ns,
                          percent_of(sum->ns, examined.time.all().total()), sum->gaps,
                          worst.empty() ? Value() : Value(std::string(*worst[0].first))});
  }
  return table;
}

Table gaps_table(const Examined& examined) {
  Table table{.key = "longest_gaps",
              .title = "longest gaps",
              .columns = {{"duration_ns", "gap", Unit::Nanoseconds},
                          {"cause", "cause"},
                          {"at_ns", "after", Unit::Nanoseconds},
                          {"blame", "attributed to", Unit::None, true},
                          {"next", "next kernel"}},
              .rows = {},
              .shown = 5};
  constexpr std::size_t kMaxGaps = 100;
  std::vector<const Gap*> longest;
  for (const Gap& gap : examined.time.gaps()) longest.push_back(&gap);
  const std::size_t count = std::min(kMaxGaps, longest.size());
  std::partial_sort(longest.begin(), longest.begin() + static_cast<std::ptrdiff_t>(count), longest.end(),
                    [](const Gap* a, const Gap* b) {
                      return a->duration_ns() != b->duration_ns() ? a->duration_ns() > b->duration_ns()
                                                                  : a->begin_ns < b->begin_ns;
                    });
  const EventTable& events = examined.model.events();
  for (std::size_t i = 0; i < count; ++i) {
    const Gap& gap = *longest[i];
    const EventId next = examined.model.activities()[gap.next].event;
    table.rows.push_back({gap.duration_ns(), std::string(name(gap.cause)),
                          gap.begin_ns - examined.model.activities()[0].begin_ns,
                          gap.blame == kNoEvent ? Value() : Value(std::string(events.name(gap.blame))),
                          events.category(next) == Category::Kernel ? examined.kernels.of(next).title
                                                                    : std::string(events.name(next))});
  }
  return table;
}

Table steps_table(const Examined& examined, const Verdicts& verdicts) {
  Table table{.key = "steps",
              .title = "steps",
              .columns = {{"step", "step", Unit::None, true},
                          {"device_ns", "device time", Unit::Nanoseconds},
                          {"busy", "busy", Unit::Percent},
                          {"overhead", "overhead", Unit::Percent},
                          {"sync", "sync", Unit::Percent},
                          {"input", "input", Unit::Percent},
                          {"communication", "coll.", Unit::Percent},
                          {"unexplained", "unexpl.", Unit::Percent},
                          {"verdict", "verdict"}},
              .rows = {}};
  for (std::size_t i = 0; i < verdicts.steps.size(); ++i) {
    const Losses& step = verdicts.steps[i];
    const auto of_step = [&](std::int64_t ns) { return Value(percent_of(ns, step.total_ns)); };
    table.rows.push_back({examined.model.steps()[i].name, step.total_ns,
                          of_step(examined.time.of_steps()[i].busy_ns), of_step(step.overhead_ns),
                          of_step(step.sync_ns), of_step(step.input_ns), of_step(step.communication_ns),
                          of_step(step.unexplained_ns),
                          step.total_ns == 0 ? std::string("no activity") : std::string(name(step.bound()))});
  }
  return table;
}

}  // namespace

std::optional<Finding> analyse_device_time(const Examined& examined) {
  if (examined.model.activities().empty()) return std::nullopt;
  const TimeShares& all = examined.time.all();
  Finding finding{.key = "device_time", .title = "Device time"};
  finding.facts = {
      {"span_ns", "first to last activity", all.total(), Unit::Nanoseconds},
      {"busy_ns", "busy", all.busy_ns, Unit::Nanoseconds},
      {"idle", "idle", percent_of(all.idle(), all.total()), Unit::Percent},
      {"communication_alone", "exposed collectives", percent_of(all.communication_ns, all.total()),
       Unit::Percent},
      {"launch_latency_ns", "launch latency", examined.time.launch_latency_ns(), Unit::Nanoseconds},
      {"usual_gap_ns", "usual gap in the queue", examined.time.usual_gap_ns(), Unit::Nanoseconds},
      {"devices", "devices", static_cast<std::int64_t>(examined.model.active_devices().size()), Unit::Count},
  };
  if (all.collective_ns != 0) {
    finding.facts.push_back({"collectives_ns", "collectives", all.collective_ns, Unit::Nanoseconds});
    finding.facts.push_back({"collectives_hidden", "of that overlapped",
                             percent_of(all.collective_ns - all.communication_ns, all.collective_ns),
                             Unit::Percent});
  }
  finding.tables.push_back(causes_table(examined));
  finding.tables.push_back(gaps_table(examined));
  if (examined.model.has_marked_steps()) {
    finding.tables.push_back(
        steps_table(examined, examined.verdicts == nullptr ? judge(examined) : *examined.verdicts));
  }
  return finding;
}

}  // namespace pel::doctor
