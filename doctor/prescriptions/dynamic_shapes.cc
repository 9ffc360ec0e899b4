// Functions that are compiled again in the steps of the trace.
#include <set>

#include <fmt/format.h>

#include "doctor/analyses/compiled_regions.h"
#include "doctor/prescriptions/patient.h"

namespace pel::doctor {

void propose_dynamic_shapes(Patient& patient, std::vector<Prescription>& prescriptions) {
  const Model& model = patient.model();
  Prescription p;
  std::set<std::int64_t> again;  // functions that have been compiled more than once
  for (const RowId row : patient.rows()) {
    std::int64_t until = std::numeric_limits<std::int64_t>::min();
    for (const EventId e : model.of_row(row)) {
      if (patient.events().is_call(e)) continue;
      const std::string_view name = patient.events().name(e);
      if (const auto region = compiled_region(name); region && region->second > 0)
        again.insert(region->first);
      if (patient.events().begin_ns(e) < until || !compiles_code(name)) continue;
      until = patient.events().end_ns(e);
      patient.cut(p, e);
      p.bound_ns = saturating_add(p.bound_ns, patient.events().duration_ns(e));
      if (p.where.empty()) p.where = patient.line_of(e);
      ++p.count;
    }
  }
  if (p.count == 0) return;
  p.key = "dynamic_shapes";
  p.effort = Effort::Setting;
  if (again.empty()) {
    p.action = "Begin the profile after the first steps: code is compiled in this trace";
    p.how = "schedule(wait=1, warmup=3, active=...), or call the model once before";
    p.needs = "later steps do not compile again";
  } else {
    p.action = fmt::format("Stop compiling again: {} {} compiled for other inputs during the run",
                           again.size(), again.size() == 1 ? "function was" : "functions were");
    p.how =
        "torch.compile(model, dynamic=True), or torch._dynamo.mark_dynamic for the dimension that changes";
    p.needs = "sizes are what changed: TORCH_LOGS=recompiles prints the guard, which the trace does not have";
  }
  prescriptions.push_back(std::move(p));
}

}  // namespace pel::doctor
