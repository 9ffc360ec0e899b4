// What the profiler itself costs.
#include "doctor/prescriptions/patient.h"

namespace pel::doctor {

void propose_lighter_profile(Patient& patient, std::vector<Prescription>& prescriptions) {
  Prescription p;
  for (const RowId row : patient.rows()) {
    std::int64_t until = std::numeric_limits<std::int64_t>::min();
    for (const EventId e : patient.model().of_row(row)) {
      if (patient.events().category(e) != Category::Overhead || patient.events().begin_ns(e) < until)
        continue;
      until = patient.events().end_ns(e);
      patient.cut(p, e);
      ++p.count;
      p.bound_ns = saturating_add(p.bound_ns, patient.events().duration_ns(e));
    }
  }
  if (patient.has_device()) p.bound_ns = patient.examined().time.all().idle(IdleCause::Profiler);
  if (p.count == 0 || p.bound_ns <= 0) return;
  p.key = "lighter_profile";
  p.action = "Record less: the profiler itself delayed the run that this trace shows";
  p.how =
      "profile(with_stack=False, record_shapes=False, profile_memory=False), fewer steps, schedule(warmup=3)";
  p.needs = "the recorded run matters: without a profiler it is already faster by this";
  p.effort = Effort::Setting;
  prescriptions.push_back(std::move(p));
}

}  // namespace pel::doctor
