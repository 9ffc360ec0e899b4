// Forward, backward, optimizer, data and communication: how long each takes on the host and on the device.
#include <array>

#include <fmt/format.h>

#include "base/readable.h"
#include "doctor/analyses/analysis.h"
#include "doctor/analyses/sums.h"
#include "doctor/model/run_phases.h"
#include "doctor/model/saturating.h"

namespace pel::doctor {
namespace {

struct PhaseTime {
  SaturatingSum device_ns, host_ns;
  std::int64_t activities = 0;
};
using PhaseTimes = std::array<PhaseTime, kRunPhaseCount>;

class StepPhases {
 public:
  explicit StepPhases(const Examined& examined)
      : examined_(examined),
        marks_(examined.model),
        of_calls_(examined.model.events().size(), RunPhase::Other),
        steps_(examined.model.steps().size()) {
    for (const RowId row : examined.model.host_rows()) walk(row);
    for (const Activity& activity : examined.model.activities()) take(activity);
  }
  const PhaseTimes& all() const { return all_; }
  const std::vector<PhaseTimes>& steps() const { return steps_; }
  bool has(RunPhase phase) const {
    const PhaseTime& time = all_[static_cast<std::size_t>(phase)];
    return time.activities != 0 || time.host_ns != 0;
  }

 private:
  struct Node {
    std::int64_t end_ns;
    RunPhase phase;
    std::uint32_t step;
  };

  // A mark, and an op or a call that no other is around, has a time of its own, which is not that of what
  // encloses it.
  void walk(RowId row) {
    const Model& model = examined_.model;
    const EventTable& events = model.events();
    std::vector<Node> around;
    std::uint32_t step = kNoStep;
    for (const EventId e : model.of_row(row)) {
      const std::int64_t begin = events.begin_ns(e), end = events.end_ns(e);
      while (!around.empty() && around.back().end_ns <= begin) around.pop_back();
      const auto mark = marks_.mark_of(e);
      const bool is_call = events.is_call(e);
      if (!mark &&
          (!around.empty() || (!is_call && events.category(e) != Category::CpuOp) || marks_.is_step(e))) {
        if (is_call) of_calls_[e] = around.back().phase;
        continue;
      }
      const RunPhase phase = mark ? *mark : is_call ? RunPhase::Other : RunPhase::Forward;
      if (step == kNoStep || begin < model.steps()[step].begin_ns || begin >= model.steps()[step].end_ns)
        step = model.step_at(begin);
      if (!around.empty()) {
        const Node& outer = around.back();
        add_host(outer.step, outer.phase, begin - std::min(end, outer.end_ns));
      }
      add_host(step, phase, end - begin);
      around.push_back({end, phase, step});
    }
  }
  void add_host(std::uint32_t step, RunPhase phase, std::int64_t ns) {
    all_[static_cast<std::size_t>(phase)].host_ns += ns;
    if (step < steps_.size()) steps_[step][static_cast<std::size_t>(phase)].host_ns += ns;
  }

  void take(const Activity& activity) {
    const auto phase = static_cast<std::size_t>(phase_of(activity));
    const auto add = [&](PhaseTimes& times) {
      times[phase].device_ns += activity.end_ns - activity.begin_ns;
      ++times[phase].activities;
    };
    add(all_);
    if (activity.step < steps_.size()) add(steps_[activity.step]);
  }
  RunPhase phase_of(const Activity& activity) {
    if (examined_.kernels.is_collective(activity.event)) return RunPhase::Communication;
    if (activity.launch != kNoEvent && of_calls_[activity.launch] != RunPhase::Other)
      return of_calls_[activity.launch];
    const EventId op = examined_.model.op_of_activity(activity);
    return op == kNoEvent ? RunPhase::Other : marks_.of(op);
  }

  const Examined& examined_;
  RunPhases marks_;
  std::vector<RunPhase> of_calls_;  // by event
  PhaseTimes all_{};
  std::vector<PhaseTimes> steps_;
};

}  // namespace

std::optional<Finding> analyse_phases(const Examined& examined) {
  const Model& model = examined.model;
  const StepPhases phases(examined);
  const PhaseTimes& all = phases.all();
  bool has_marks = false;
  for (const RunPhase phase :
       {RunPhase::Backward, RunPhase::Optimizer, RunPhase::Data, RunPhase::Communication})
    has_marks |= phases.has(phase);
  if (!has_marks) return std::nullopt;  // then all of it is forward, and nothing is new
  SaturatingSum device_ns;
  for (const PhaseTime& time : all) device_ns += time.device_ns;
  const TimeShares& shares = examined.time.all();
  const std::int64_t hidden = shares.collective_ns - shares.communication_ns;
  Finding finding{.key = "phases", .title = "Phases of a step"};
  finding.facts = {
      {"device_ns", "time of all activities", device_ns, Unit::Nanoseconds},
      {"collective_ns", "collectives ran", shares.collective_ns, Unit::Nanoseconds},
      {"exposed_ns", "of it with nothing else", shares.communication_ns, Unit::Nanoseconds},
      {"hidden_ns", "of it with other activity", hidden, Unit::Nanoseconds},
      {"hidden", "hidden", percent_of(hidden, shares.collective_ns), Unit::Percent},
  };
  if (shares.collective_ns == 0) finding.facts.resize(1);
  Table table{.key = "phases",
              .title = "all steps",
              .columns = {{"phase", "phase", Unit::None, true},
                          {"device_ns", "device time", Unit::Nanoseconds},
                          {"share", "of all", Unit::Percent},
                          {"activities", "activities", Unit::Count},
                          {"host_ns", "host time", Unit::Nanoseconds}},
              .rows = {},
              .shown = kRunPhaseCount};
  for (std::size_t i = 0; i < kRunPhaseCount; ++i) {
    if (!phases.has(static_cast<RunPhase>(i))) continue;
    table.rows.push_back({std::string(name(static_cast<RunPhase>(i))), all[i].device_ns,
                          percent_of(all[i].device_ns, device_ns), all[i].activities, all[i].host_ns});
  }
  finding.tables.push_back(std::move(table));
  if (!model.has_marked_steps()) return finding;
  Table steps{.key = "steps",
              .title = "device time by step",
              .columns = {{"step", "step", Unit::None, true}},
              .rows = {}};
  for (std::size_t i = 0; i < kRunPhaseCount; ++i) {
    const auto phase = static_cast<RunPhase>(i);
    const std::string label(phase == RunPhase::Communication ? "comm." : name(phase));
    steps.columns.push_back(
        {fmt::format("{}_ns", name(phase)), phases.has(phase) ? label : "", Unit::Nanoseconds});
    steps.columns.push_back({fmt::format("{}_host_ns", name(phase)), "", Unit::Nanoseconds});
  }
  steps.columns.push_back({"hidden_ns", shares.collective_ns == 0 ? "" : "hidden", Unit::Nanoseconds});
  steps.columns.push_back({"exposed_ns", "", Unit::Nanoseconds});
  for (std::size_t step = 0; step < phases.steps().size(); ++step) {
    std::vector<Value> row{model.steps()[step].name};
    for (const PhaseTime& time : phases.steps()[step]) {
      row.emplace_back(time.device_ns);
      row.emplace_back(time.host_ns);
    }
    const TimeShares& of_step = examined.time.of_steps()[step];
    row.emplace_back(std::int64_t{of_step.collective_ns - of_step.communication_ns});
    row.emplace_back(std::int64_t{of_step.communication_ns});
    steps.rows.push_back(std::move(row));
  }
  finding.tables.push_back(std::move(steps));
  return finding;
}

}  // namespace pel::doctor
