// Collectives during which nothing else runs.
#include <map>

#include <fmt/format.h>

#include "base/readable.h"
#include "doctor/prescriptions/patient.h"

namespace pel::doctor {
namespace {

struct StepCollectives {
  std::vector<ExposedCollective> collectives;
  SaturatingSum exposed_ns, compute_ns;
};

}  // namespace

void propose_overlapped_collectives(Patient& patient, std::vector<Prescription>& prescriptions) {
  std::map<std::uint32_t, StepCollectives> steps;
  const std::span<const Activity> activities = patient.model().activities();
  for (const ExposedCollective& collective :
       exposed_collectives(patient.model(), patient.examined().kernels)) {
    StepCollectives& step = steps[activities[collective.activity].step];
    step.collectives.push_back(collective);
    step.exposed_ns += collective.exposed_ns;
  }
  if (steps.empty()) return;
  for (std::uint32_t w = 0; w < activities.size(); ++w) {
    const auto at = steps.find(activities[w].step);
    if (at != steps.end() && !patient.examined().kernels.is_collective(activities[w].event))
      at->second.compute_ns += patient.duration_ns(w);
  }
  Prescription p;
  for (auto& [number, step] : steps) {
    if (step.collectives.size() < 2) continue;
    // The last one has nothing left to overlap with; the others have at most what else the step computes.
    std::size_t last = 0;
    for (std::size_t i = 0; i < step.collectives.size(); ++i) {
      if (activities[step.collectives[i].activity].end_ns >
          activities[step.collectives[last].activity].end_ns)
        last = i;
    }
    std::int64_t space = step.compute_ns;
    for (std::size_t i = 0; i < step.collectives.size(); ++i) {
      const ExposedCollective& collective = step.collectives[i];
      const std::int64_t hidden = std::min(collective.exposed_ns, space);
      const std::int64_t whole = patient.duration_ns(collective.activity);
      if (i == last || hidden <= 0 || whole <= 0) continue;
      space -= hidden;
      patient.scale(p.change, collective.activity,
                    1 - static_cast<double>(hidden) / static_cast<double>(whole));
      p.bound_ns = saturating_add(p.bound_ns, hidden);
      ++p.count;
      if (p.where.empty()) p.where = patient.place_of_activity(collective.activity);
    }
  }
  if (p.count == 0) return;
  p.key = "overlap_collectives";
  p.action = "Let collectives run during the backward pass: nothing else runs while they do";
  p.how =
      "DistributedDataParallel(bucket_cap_mb=25, gradient_as_bucket_view=True); FSDP: backward_prefetch, "
      "forward_prefetch=True";
  p.needs =
      "the time is the transfer and not the wait for a late rank: --ranks tells, from the traces of all "
      "ranks";
  p.effort = Effort::Line;
  prescriptions.push_back(std::move(p));
}

}  // namespace pel::doctor
