// Compiled code in pieces, each of which looks up its guards.
#include <map>
#include <set>

#include <fmt/format.h>

#include "doctor/analyses/compiled_regions.h"
#include "doctor/prescriptions/patient.h"

namespace pel::doctor {

void propose_no_graph_breaks(Patient& patient, std::vector<Prescription>& prescriptions) {
  const Model& model = patient.model();
  Prescription p;
  std::map<std::uint32_t, std::set<std::int64_t>> functions;  // by step
  std::set<std::uint32_t> looked_up;                          // steps that have had their first lookup
  for (const RowId row : patient.rows()) {
    for (const EventId e : model.of_row(row)) {
      if (patient.events().is_call(e)) continue;
      const std::string_view name = patient.events().name(e);
      const std::uint32_t step = model.step_at(patient.events().begin_ns(e));
      if (const auto region = compiled_region(name)) functions[step].insert(region->first);
      if (name != kGuardLookup || looked_up.insert(step).second) continue;  // one is needed
      patient.cut(p, e);
      p.bound_ns = saturating_add(p.bound_ns, patient.events().duration_ns(e));
      if (p.where.empty()) p.where = patient.line_of(e);
      ++p.count;
    }
  }
  std::size_t pieces = 0;
  for (const auto& [step, seen] : functions) pieces = std::max(pieces, seen.size());
  if (p.count == 0 || pieces < 2) return;
  p.key = "graph_breaks";
  p.action = fmt::format(
      "Compile the step as one graph: it is in {} pieces, and guards are looked up before each", pieces);
  p.how = "torch.compile(model, fullgraph=True) names the first break; TORCH_LOGS=graph_breaks names all";
  p.needs = "what breaks the graph can be written another way";
  prescriptions.push_back(std::move(p));
}

}  // namespace pel::doctor
