// Convolutions between whose layouts kernels convert back and forth.
#include <unordered_map>

#include "doctor/prescriptions/patient.h"

namespace pel::doctor {
namespace {

bool converts_layout(std::string_view kernel) {
  for (const std::string_view word :
       {"nchwToNhwc", "nhwcToNchw", "nchw2nhwc", "nhwc2nchw", "batched_transpose"}) {
    if (kernel.find(word) != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace

void propose_channels_last(Patient& patient, std::vector<Prescription>& prescriptions) {
  Prescription p;
  const std::span<const Activity> activities = patient.model().activities();
  std::unordered_map<NameId, bool> converts;  // kernels are many, names few
  for (std::uint32_t w = 0; w < activities.size(); ++w) {
    const EventId kernel = activities[w].event;
    if (patient.events().category(kernel) != Category::Kernel) continue;
    const auto [at, is_new] = converts.try_emplace(patient.events().name_id(kernel));
    if (is_new) at->second = converts_layout(patient.events().name(kernel));
    if (!at->second) continue;
    patient.leave_out(p.change, w);
    p.bound_ns = saturating_add(p.bound_ns, patient.duration_ns(w));
    if (p.count++ == 0) p.where = patient.place_of_activity(w);
  }
  if (p.count == 0) return;
  p.key = "channels_last";
  p.action = "Keep images in channels-last layout: kernels convert it before and after convolutions";
  p.how = "model.to(memory_format=torch.channels_last) and x.to(memory_format=torch.channels_last)";
  p.needs = "the ops between the convolutions keep the layout";
  prescriptions.push_back(std::move(p));
}

}  // namespace pel::doctor
