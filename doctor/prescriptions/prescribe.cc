#include "doctor/prescriptions/prescribe.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/readable.h"
#include "base/sort_stably.h"
#include "doctor/analyses/sums.h"
#include "doctor/prescriptions/limits.h"
#include "doctor/prescriptions/patient.h"

namespace pel::doctor {
namespace {

// The share of a thread's time that cuts save, where some may lie in others: each moment counts once, by the
// product of what is kept. Of marked steps, the median: some were interrupted.
double saved_share(const Patient& patient, std::span<const HostCut> cuts) {
  struct Edge {
    std::int64_t at;
    double kept;
    int change;  // 1 begins, -1 ends, 0 is the border of a step
  };
  std::vector<Edge> edges{{patient.host_begin_ns(), 1, 0}, {patient.host_end_ns(), 1, 0}};
  for (const HostCut& cut : cuts) {
    edges.push_back({cut.begin_ns, cut.kept, 1});
    edges.push_back({cut.end_ns, cut.kept, -1});
  }
  const std::span<const Step> steps =
      patient.model().has_marked_steps() ? patient.model().steps() : std::span<const Step>();
  for (const Step& step : steps) {
    edges.push_back({step.begin_ns, 1, 0});
    edges.push_back({step.end_ns, 1, 0});
  }
  sort_stably(edges, [](const Edge& a, const Edge& b) { return a.at < b.at; });
  struct Part {
    double all = 0, saved = 0;
  };
  std::map<std::uint32_t, Part> parts;  // by step
  double kept = 1;
  std::int64_t zeros = 0, last = edges.front().at;
  for (const Edge& edge : edges) {
    if (edge.at > last) {
      const double ns = patient.unprofiled_ns(last, edge.at);
      Part& part = parts[steps.empty() ? 0 : patient.model().step_at(last)];
      part.all += ns;
      part.saved += ns * (1 - (zeros > 0 ? 0 : kept));
    }
    last = edge.at;
    if (edge.change == 0) continue;
    if (edge.kept == 0) {
      zeros += edge.change;
    } else {
      kept = edge.change > 0 ? kept * edge.kept : kept / edge.kept;
    }
  }
  std::vector<double> shares;
  Part whole;
  for (const auto& [step, part] : parts) {
    whole.all += part.all;
    whole.saved += part.saved;
    if (!steps.empty() && step != kNoStep && part.all > 0) shares.push_back(part.saved / part.all);
  }
  if (shares.size() >= kStepsForMedian) {
    std::ranges::nth_element(shares, shares.begin() + static_cast<std::ptrdiff_t>(shares.size() / 2));
    return shares[shares.size() / 2];
  }
  return whole.all > 0 ? whole.saved / whole.all : 0;
}

// Of two that gain about the same, the easier one is first.
double rank_of(const Prescription& prescription) {
  const double weight = prescription.effort == Effort::Setting ? 1.1
                        : prescription.effort == Effort::Line  ? 1
                                                               : 0.75;
  return static_cast<double>(prescription.saved_ns) * weight;
}

void predict(const Patient& patient, std::int64_t unchanged_ns, Prescription& prescription) {
  if (!patient.has_device()) {
    prescription.basis = Basis::HostTime;
    prescription.saved_ns =
        saturating_cast(saved_share(patient, prescription.cuts) * static_cast<double>(patient.total_ns()));
  } else if (patient.replay() == nullptr) {
    prescription.basis = Basis::Idle;
    prescription.saved_ns = prescription.bound_ns;
  } else {
    prescription.saved_ns = saturating_sub(
        unchanged_ns, patient.replay()->ask(prescription.change).span_ns / prescription.batches);
  }
}

}  // namespace

std::string_view text_of(Basis basis) {
  switch (basis) {
    case Basis::Replay:
      return "by replay";
    case Basis::Idle:
      return "by idle time";
    case Basis::HostTime:
      return "by host time";
    case Basis::Waits:
      return "by waits in collectives";
  }
  return {};
}

Prescriptions prescribe(const Examined& examined) {
  Patient patient(examined);
  Prescriptions result{.list = {}, .total_ns = patient.total_ns(), .steps = patient.steps()};
  if (patient.total_ns() <= 0) return result;
  std::vector<Prescription>& list = result.list;
  for (const Remedy& remedy : all_remedies()) {
    check_stop(examined.stop);
    remedy.propose(patient, list);
  }
  const auto gains_too_little = [&](std::int64_t ns) {
    return percent_of(ns, patient.total_ns()) < kMinGainPercent;
  };
  std::erase_if(list, [&](const Prescription& p) { return gains_too_little(p.bound_ns); });
  sort_stably(list, [](const Prescription& a, const Prescription& b) { return a.bound_ns > b.bound_ns; });
  if (list.size() > kMaxReplayed) list.resize(kMaxReplayed);
  if (list.empty()) return result;
  const std::int64_t unchanged_ns = patient.replay() == nullptr ? 0 : patient.replay()->unchanged().span_ns;
  if (patient.replay() != nullptr) result.total_ns = unchanged_ns;
  for (Prescription& prescription : list) {
    check_stop(examined.stop);
    predict(patient, unchanged_ns, prescription);
  }
  std::erase_if(list, [&](const Prescription& p) { return gains_too_little(p.saved_ns); });
  sort_stably(list, [](const Prescription& a, const Prescription& b) { return rank_of(a) > rank_of(b); });
  // What is there once each; batches are more work, not less time.
  Prescription together;
  for (const Prescription& prescription : list) {
    if (prescription.batches != 1 || result.together == kTogether) continue;
    together.change = combined(std::move(together.change), prescription.change);
    together.cuts.insert(together.cuts.end(), prescription.cuts.begin(), prescription.cuts.end());
    together.bound_ns = std::max(together.bound_ns, prescription.saved_ns);
    ++result.together;
  }
  if (result.together < 2) {
    result.together = 0;
    return result;
  }
  predict(patient, unchanged_ns, together);
  result.together_ns = std::max(together.saved_ns, together.bound_ns);
  return result;
}

std::optional<Finding> prescriptions_finding(const Prescriptions& prescriptions) {
  if (prescriptions.list.empty()) return std::nullopt;
  const std::int64_t total = prescriptions.total_ns, steps = std::max<std::int64_t>(1, prescriptions.steps);
  const auto gain = [&](std::int64_t saved_ns) {
    return fmt::format("{:.1f} %: {} of {}{}", percent_of(saved_ns, total), readable_ns(saved_ns / steps),
                       readable_ns(total / steps), steps == 1 ? "" : " a step");
  };
  Finding finding{.key = "prescriptions", .title = "What to do"};
  if (prescriptions.together != 0)
    finding.sentences.push_back(fmt::format("The first {} together save {}.", prescriptions.together,
                                            gain(prescriptions.together_ns)));
  finding.facts = {
      {"time_ns", "time", total, Unit::Nanoseconds},
      {"steps", "steps", steps, Unit::Count},
      {"together", "first ones together", static_cast<std::int64_t>(prescriptions.together), Unit::Count},
      {"together_saved_ns", "save", prescriptions.together_ns, Unit::Nanoseconds},
      {"together_saved", "of the time", percent_of(prescriptions.together_ns, total), Unit::Percent},
  };
  Table table{.key = "actions",
              .title = "by predicted gain and how much has to change",
              .columns = {{"saved", "saves", Unit::Percent},
                          {"saved_ns", "of the run", Unit::Nanoseconds},
                          {"saved_step_ns", "of a step", Unit::Nanoseconds},
                          {"count", "times", Unit::Count},
                          {"key", "remedy"},
                          {"action", "action", Unit::None, true},
                          {"gain", ""},
                          {"how", ""},
                          {"where", ""},
                          {"needs", ""},
                          {"basis", ""}},
              .rows = {}};
  const auto known = [](const std::string& text) { return text.empty() ? Value() : Value(text); };
  for (const Prescription& p : prescriptions.list)
    table.rows.push_back({percent_of(p.saved_ns, total), p.saved_ns, p.saved_ns / steps, p.count, p.key,
                          p.action, "saves " + gain(p.saved_ns), p.how, known(p.where), known(p.needs),
                          std::string(text_of(p.basis))});
  table.shown = table.rows.size();
  finding.tables.push_back(std::move(table));
  return finding;
}

}  // namespace pel::doctor
