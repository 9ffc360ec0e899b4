// Copies from pageable memory, for which the host waits.
#include <map>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "base/readable.h"
#include "doctor/prescriptions/patient.h"

namespace pel::doctor {
namespace {

struct Rate {
  double bytes = 0, ns = 0;
};

}  // namespace

void propose_pinned_memory(Patient& patient, std::vector<Prescription>& prescriptions) {
  const Model& model = patient.model();
  std::vector<std::uint32_t> copies;
  std::unordered_set<EventId> ops;
  Rate pageable, pinned;
  const std::span<const Activity> activities = model.activities();
  for (std::uint32_t w = 0; w < activities.size(); ++w) {
    const EventId e = activities[w].event;
    if (patient.events().category(e) != Category::Memcpy) continue;
    const std::string_view name = patient.events().name(e);
    if (name.find("HtoD") == std::string_view::npos) continue;
    const bool is_pageable = name.find("Pageable") != std::string_view::npos;
    Rate& rate = is_pageable ? pageable : pinned;
    rate.bytes += static_cast<double>(std::max<std::int64_t>(0, patient.events().device_args(e)->bytes));
    rate.ns += static_cast<double>(patient.duration_ns(w));
    if (!is_pageable) continue;
    copies.push_back(w);
    if (const EventId op = model.op_of_activity(activities[w]); op != kNoEvent) ops.insert(op);
  }
  if (copies.empty()) return;
  Prescription p;
  // Pinned copies are faster, too, where the trace has some to tell.
  const double faster = pinned.bytes > 0 && pinned.ns > 0 && pageable.bytes > 0
                            ? std::min(1.0, pinned.ns / pinned.bytes * pageable.bytes / pageable.ns)
                            : 1;
  for (const std::uint32_t w : copies) {
    if (activities[w].launch != kNoEvent) patient.leave_out_wait(p.change, activities[w].launch);
    if (faster < 1) patient.scale(p.change, w, faster);
    p.bound_ns = saturating_add(p.bound_ns, patient.duration_ns(w));
  }
  for (const Gap& gap : patient.examined().time.gaps()) {
    if (gap.cause != IdleCause::Sync || gap.blame == kNoEvent) continue;
    const EventId op = model.op_of_launch(gap.blame);
    if (op == kNoEvent || !ops.contains(op)) continue;
    patient.leave_out_wait(p.change, gap.blame);
    p.bound_ns = saturating_add(p.bound_ns, gap.duration_ns());
  }
  p.key = "pin_memory";
  p.action = fmt::format("Copy inputs from pinned memory: {} come from pageable memory, and the host waits",
                         readable_bytes(saturating_cast(pageable.bytes)));
  p.how = "DataLoader(..., pin_memory=True) and batch.to(device, non_blocking=True)";
  p.where = patient.place_of_activity(copies.front());
  p.needs = "there is memory for the pinned batches";
  p.count = static_cast<std::int64_t>(copies.size());
  prescriptions.push_back(std::move(p));
}

}  // namespace pel::doctor
