// Gradients that are set to zero and added to, instead of being dropped and written.
#include "doctor/prescriptions/patient.h"

namespace pel::doctor {
namespace {

constexpr std::string_view kAccumulate = "torch::autograd::AccumulateGrad";

bool accumulates(const Patient& patient, EventId launch) {
  int levels = 0;
  for (EventId e = launch; e != kNoEvent && levels < 64; e = patient.model().parent(e), ++levels) {
    if (patient.events().name(e).find(kAccumulate) != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace

void propose_no_gradients_to_zero(Patient& patient, std::vector<Prescription>& prescriptions) {
  if (!patient.has_device() || patient.model().is_synchronous()) return;
  const std::vector<EventId> spans = patient.spans_named("Optimizer.zero_grad#");
  Prescription p;
  std::int64_t fills = 0;
  for (const std::vector<std::uint32_t>& cleared : patient.launched_within(spans)) {
    for (const std::uint32_t w : cleared) {
      patient.claim(w);
      patient.leave_out(p.change, w);
      p.bound_ns = saturating_add(p.bound_ns, patient.duration_ns(w));
      ++fills;
    }
  }
  if (fills == 0) return;
  const std::span<const Activity> activities = patient.model().activities();
  for (std::uint32_t w = 0; w < activities.size(); ++w) {
    if (activities[w].launch == kNoEvent || patient.is_claimed(w) ||
        !accumulates(patient, activities[w].launch))
      continue;
    patient.claim(w);
    patient.leave_out(p.change, w);
    p.bound_ns = saturating_add(p.bound_ns, patient.duration_ns(w));
  }
  for (const EventId span : spans)
    p.bound_ns = saturating_add(p.bound_ns, patient.events().duration_ns(span));
  p.key = "set_to_none";
  p.action = "Drop gradients instead of setting them to zero";
  p.how = "optimizer.zero_grad(set_to_none=True), which is the default since PyTorch 2.0";
  p.where = patient.line_of(spans.front());
  p.needs = "no code reads .grad between zero_grad and backward; gradients of one step are not accumulated";
  p.count = fills;
  p.effort = Effort::Setting;
  prescriptions.push_back(std::move(p));
}

}  // namespace pel::doctor
