#include "doctor/diagnosis/diagnosis.h"

#include <algorithm>

#include "base/median.h"

namespace pel::doctor {

std::string_view name(Bound bound) {
  static constexpr std::array<std::string_view, 8> kNames{
      "overhead-bound",      "compute-bound", "memory-bound", "input-bound",
      "communication-bound", "sync-bound",    "unexplained",  "cpu-only"};
  return kNames[static_cast<std::size_t>(bound)];
}

std::array<std::pair<std::string_view, std::uint64_t>, 5> named(const Totals& totals) {
  return {{{"kernels", totals.kernels},
           {"memcpy", totals.memcpy},
           {"memset", totals.memset},
           {"graph_launches", totals.graph_launches},
           {"syncs", totals.syncs}}};
}

Quantities all_quantities(const RunCounts& run) {
  Quantities all;
  for (const auto& [name, count] : named(run.totals)) all.emplace_back(name, static_cast<double>(count));
  all.insert(all.end(), run.quantities.begin(), run.quantities.end());
  return all;
}

std::optional<Quantities> typical_counts(const RunCounts& run) {
  std::vector<const Quantities*> active;
  for (const Quantities& step : run.steps) {
    if (std::ranges::any_of(step, [](const auto& one) { return one.second != 0; })) active.push_back(&step);
  }
  if (active.empty()) return std::nullopt;
  Quantities typical;
  for (std::size_t i = 0; i < active[0]->size(); ++i) {  // all steps have the same names
    std::vector<double> amounts;
    for (const Quantities* step : active) amounts.push_back((*step)[i].second);
    typical.emplace_back((*active[0])[i].first, lower_median_of(std::move(amounts)));
  }
  return typical;
}

}  // namespace pel::doctor
