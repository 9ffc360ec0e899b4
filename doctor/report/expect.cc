#include "doctor/report/expect.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/check.h"
#include "doctor/report/readable_value.h"

namespace pel::doctor {
namespace {

constexpr std::string_view kOfStep = "step.";

Quantities all_quantities(const Diagnosis& trace) {
  Quantities all;
  for (const auto& [name, count] : named(trace.totals)) all.emplace_back(name, static_cast<double>(count));
  all.insert(all.end(), trace.quantities.begin(), trace.quantities.end());
  return all;
}

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

}  // namespace

void check_words(const std::vector<Condition>& conditions, const std::vector<const Diagnosis*>& traces) {
  std::vector<std::string> names;  // in the order of the traces, each once
  std::set<std::string> known;
  const auto add = [&](std::string name) {
    if (known.insert(name).second) names.push_back(std::move(name));
  };
  bool has_steps = false;
  for (const Diagnosis* trace : traces) {
    has_steps = has_steps || !trace->steps.empty();
    for (const auto& quantity : all_quantities(*trace)) add(quantity.first);
  }
  const std::vector<std::string> whole = names;
  for (const Diagnosis* trace : traces)
    for (const Quantities& step : trace->steps)
      for (const auto& quantity : step) add(std::string(kOfStep) + quantity.first);
  if (!has_steps)  // the condition is right, and does not hold
    for (const std::string& name : whole) add(std::string(kOfStep) + name);
  check_quantities(conditions, {names.begin(), names.end()});
}

std::vector<Checked> check(const std::vector<Condition>& conditions, const Diagnosis& trace) {
  const Quantities quantities = all_quantities(trace);
  std::vector<Checked> all;
  for (const Condition& condition : conditions) {
    const std::string_view name = condition.quantity;
    if (!condition.is_quoted && name.starts_with(kOfStep)) {
      all.push_back(check_steps(condition, name.substr(kOfStep.size()), trace.steps));
      continue;
    }
    double seen = 0;
    if (condition.is_quoted) {
      for (const auto& [kernel, count] : trace.kernel_names)
        if (kernel.find(name) != std::string::npos) seen += count;
    } else {
      seen = amount_of(quantities, name);
    }
    all.push_back({condition.text, number_text(seen), condition.holds(seen)});
  }
  return all;
}

}  // namespace pel::doctor
