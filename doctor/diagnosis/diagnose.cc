#include "doctor/diagnosis/diagnose.h"

#include <array>
#include <map>

#include "doctor/analyses/analysis.h"
#include "doctor/analyses/shared.h"
#include "doctor/analyses/verdict.h"
#include "doctor/diagnosis/examination.h"
#include "doctor/model/run_in_parallel.h"
#include "doctor/prescriptions/prescribe.h"
#include "doctor/replay/what_if.h"

namespace pel::doctor {
namespace {

constexpr std::size_t kManySpans = 4'000'000;

struct Counts {
  Totals totals;
  std::array<std::uint64_t, kKernelFamilyCount> families{};

  void add(const Examined& examined, EventId e) {
    const EventTable& events = examined.model.events();
    switch (events.category(e)) {
      case Category::Kernel:
        ++totals.kernels;
        ++families[static_cast<std::size_t>(examined.kernels.family(e))];
        break;
      case Category::Memcpy:
        ++totals.memcpy;
        break;
      case Category::Memset:
        ++totals.memset;
        break;
      case Category::Runtime:
      case Category::Driver:
        if (events.is_graph_launch(e)) ++totals.graph_launches;
        if (events.is_sync_call(e)) ++totals.syncs;
        break;
      default:
        break;
    }
  }
  Quantities of_families() const {
    Quantities quantities;
    for (std::size_t i = 0; i < families.size(); ++i)
      quantities.emplace_back(word_of(static_cast<KernelFamily>(i)), static_cast<double>(families[i]));
    return quantities;
  }
};

}  // namespace

RunCounts count(const Examined& examined) {
  const Model& model = examined.model;
  const EventTable& events = model.events();
  Counts all;
  std::vector<Counts> steps(model.steps().size());
  std::map<NameId, std::uint64_t> names;
  for (EventId e = 0; e < events.size(); ++e) {
    all.add(examined, e);
    if (events.category(e) == Category::Kernel) ++names[events.name_id(e)];
    if (!events.is_call(e)) continue;
    const std::uint32_t step = model.step_at(events.begin_ns(e));
    if (step < steps.size()) steps[step].add(examined, e);
  }
  for (const Activity& activity : model.activities()) {
    if (activity.step < steps.size()) steps[activity.step].add(examined, activity.event);
  }
  RunCounts counts;
  counts.totals = all.totals;
  counts.quantities = all.of_families();
  for (const Counts& step : steps) {
    Quantities& quantities = counts.steps.emplace_back(step.of_families());
    for (const auto& [name, number] : named(step.totals))
      quantities.emplace_back(name, static_cast<double>(number));
  }
  for (const auto& [id, runs] : names)
    counts.kernel_names.emplace_back(events.names[id], static_cast<double>(runs));
  return counts;
}

Diagnosis diagnose(const Examination& examination, const std::vector<std::string>& what_if) {
  Examined examined = examination.examined();
  const Verdicts verdicts = judge(examined);
  examined.verdicts = &verdicts;
  const Shared shared;
  examined.shared = &shared;
  Diagnosis diagnosis;
  diagnosis.path = examination.path();
  const std::span<const Analysis> analyses = all_analyses();
  std::vector<std::optional<Finding>> findings(analyses.size());
  const std::size_t spans = examined.model.events().size();
  const std::size_t max_at_once = spans < kFewSpans || spans >= kManySpans ? 1 : 0;  // memory adds up
  std::optional<Finding> prescriptions;
  // First the prescriptions, which take longest and make the replay; what_if, the last analysis, finds it
  // made.
  run_in_parallel(analyses.size() + 3, max_at_once, [&](std::size_t i) {
    check_stop(examined.stop);
    if (i == 0) return void(prescriptions = prescriptions_finding(prescribe(examined)));
    if (i == 1) return void(diagnosis.counts = count(examined));
    if (i == 2) return void(diagnosis.verdict = verdict_of(examined, verdicts));
    const std::size_t number = i - 3;
    const bool is_asked = analyses[number].key == "what_if" && !what_if.empty();
    findings[number] = is_asked ? answer_questions(examined, what_if) : analyses[number].run(examined);
    if (findings[number]) findings[number]->is_asked_for = is_asked;
  });
  if (prescriptions) diagnosis.findings.push_back(std::move(*prescriptions));
  for (std::optional<Finding>& finding : findings) {
    if (finding) diagnosis.findings.push_back(std::move(*finding));
  }
  diagnosis.summary = examination.model().summary();
  return diagnosis;
}

Diagnosis diagnose(const std::string& path) {
  ReadOptions options;
  options.reading = Reading::Lenient;
  return diagnose(Examination(path, options));
}

std::vector<std::string_view> finding_keys() {
  std::vector<std::string_view> keys{"prescriptions"};
  for (const Analysis& analysis : all_analyses()) keys.push_back(analysis.key);
  return keys;
}

}  // namespace pel::doctor
