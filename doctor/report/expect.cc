#include "doctor/report/expect.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "doctor/report/readable_value.h"

namespace pel::doctor {
namespace {

constexpr std::string_view kOfStep = "step.";

constexpr std::string_view kMore = "more.";

double amount_of(const Quantities& quantities, std::string_view name) {
  const auto found = std::ranges::find(quantities, name, &Quantities::value_type::first);
  return found == quantities.end() ? 0 : found->second;
}

std::string number_text(double number) { return readable(Value(number), Unit::Count); }

Checked check_steps(const Condition& condition, std::string_view quantity,
                    const std::vector<Quantities>& steps) {
  Checked checked{condition.text, "no steps", false};
  if (steps.empty()) return checked;
  checked.holds = true;
  double least = amount_of(steps[0], quantity), most = least;
  std::string first_wrong;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const double seen = amount_of(steps[i], quantity);
    least = std::min(least, seen);
    most = std::max(most, seen);
    if (condition.holds(seen) || !checked.holds) continue;
    checked.holds = false;
    first_wrong = fmt::format("; step {} has {}", i + 1, number_text(seen));
  }
  const std::string where = steps.size() == 1 ? "the only step" : fmt::format("{} steps", steps.size());
  checked.seen =
      least == most
          ? fmt::format("{} in {}{}", number_text(least), steps.size() == 1 ? "" : "each of ", where)
          : fmt::format("{} to {} in {}{}", number_text(least), number_text(most), where, first_wrong);
  return checked;
}

// What the trace has more than the one that it is compared with.
Checked check_more(const Condition& condition, std::string_view quantity, const Diagnosis& trace) {
  if (!trace.counts_before) return {condition.text, "nothing to compare with", false};
  const bool is_of_step = quantity.starts_with(kOfStep);
  if (is_of_step) quantity.remove_prefix(kOfStep.size());
  const auto amount = [&](const RunCounts& run) -> std::optional<double> {
    if (!is_of_step) return amount_of(all_quantities(run), quantity);
    const std::optional<Quantities> typical = typical_counts(run);
    return typical ? std::optional(amount_of(*typical, quantity)) : std::nullopt;
  };
  const std::optional<double> after = amount(trace.counts), before = amount(*trace.counts_before);
  if (!after || !before) return {condition.text, "no steps", false};
  return {condition.text,
          fmt::format("{}: {}, {} before{}", number_text(*after - *before), number_text(*after),
                      number_text(*before), is_of_step ? ", in a typical step" : ""),
          condition.holds(*after - *before)};
}

}  // namespace

void check_words(const std::vector<Condition>& conditions, const std::vector<const Diagnosis*>& traces) {
  std::vector<std::string> names;  // in the order of the traces, each once
  std::set<std::string> known;
  const auto add = [&](std::string name) {
    if (known.insert(name).second) names.push_back(std::move(name));
  };
  bool has_steps = false;
  for (const Diagnosis* trace : traces) {
    has_steps = has_steps || !trace->counts.steps.empty();
    for (const auto& quantity : all_quantities(trace->counts)) add(quantity.first);
  }
  const std::vector<std::string> whole = names;
  for (const Diagnosis* trace : traces)
    for (const Quantities& step : trace->counts.steps)
      for (const auto& quantity : step) add(std::string(kOfStep) + quantity.first);
  if (!has_steps)  // the condition is right, and does not hold
    for (const std::string& name : whole) add(std::string(kOfStep) + name);
  const std::vector<std::string> own = names;
  if (std::ranges::any_of(traces, [](const Diagnosis* trace) { return trace->counts_before.has_value(); }))
    for (const std::string& name : own) add(std::string(kMore) + name);
  check_quantities(conditions, {names.begin(), names.end()});
}

bool is_about_more(const Condition& condition) {
  return !condition.is_quoted && condition.quantity.starts_with(kMore);
}

std::vector<Checked> check(const std::vector<Condition>& conditions, const Diagnosis& trace) {
  const Quantities quantities = all_quantities(trace.counts);
  std::vector<Checked> all;
  for (const Condition& condition : conditions) {
    const std::string_view name = condition.quantity;
    if (is_about_more(condition)) {
      all.push_back(check_more(condition, name.substr(kMore.size()), trace));
      continue;
    }
    if (!condition.is_quoted && name.starts_with(kOfStep)) {
      all.push_back(check_steps(condition, name.substr(kOfStep.size()), trace.counts.steps));
      continue;
    }
    double seen = 0;
    if (condition.is_quoted) {
      for (const auto& [kernel, count] : trace.counts.kernel_names)
        if (kernel.find(name) != std::string::npos) seen += count;
    } else {
      seen = amount_of(quantities, name);
    }
    all.push_back({condition.text, number_text(seen), condition.holds(seen)});
  }
  return all;
}

}  // namespace pel::doctor
