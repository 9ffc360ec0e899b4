// A CUDA graph of the step, which launches its kernels at once.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "doctor/analyses/capture.h"
#include "doctor/analyses/sums.h"
#include "doctor/prescriptions/limits.h"
#include "doctor/prescriptions/patient.h"

namespace pel::doctor {

void propose_cuda_graph(Patient& patient, std::vector<Prescription>& prescriptions) {
  if (!patient.has_device() || patient.model().is_synchronous()) return;
  std::int64_t launched = 0, in_graphs = 0;
  EventId slowest = kNoEvent;
  for (const Activity& activity : patient.model().activities()) {
    if (activity.launch == kNoEvent) continue;
    ++launched;
    in_graphs += patient.events().is_graph_launch(activity.launch) ? 1 : 0;
  }
  if (launched == 0 || 2 * in_graphs > launched) return;
  std::int64_t longest = 0;
  for (const Gap& gap : patient.examined().time.gaps()) {
    if (gap.cause != IdleCause::Dispatch || gap.duration_ns() <= longest ||
        gap.duration_ns() > kLongestDispatchNs)
      continue;
    longest = gap.duration_ns();
    slowest = patient.model().activities()[gap.next].launch;
  }
  Prescription& p = prescriptions.emplace_back();
  p.key = "cuda_graph";
  p.action = "Launch the step as one CUDA graph: kernels are launched slower than they run";
  p.how = "torch.compile(model, mode=\"reduce-overhead\"), or torch.cuda.graph around the step";
  p.where = patient.place_of(slowest);
  p.effort = Effort::Setting;
  p.count = launched - in_graphs;
  for (const Gap& gap : patient.examined().time.gaps()) {
    const bool is_of_launch =
        gap.cause == IdleCause::Dispatch || gap.cause == IdleCause::Latency || gap.cause == IdleCause::Sync;
    if (is_of_launch && gap.duration_ns() <= kLongestDispatchNs)
      p.bound_ns = saturating_add(p.bound_ns, gap.duration_ns());
  }
  p.needs = "sizes do not change from step to step";
  if (const std::vector<std::string> blockers = capture_blockers(patient.examined()); !blockers.empty()) {
    p.effort = Effort::Rewrite;
    p.needs = fmt::format("what stops its capture goes: {}", fmt::join(blockers, ", "));
  }
  patient.launch_at_once(p.change);
}

}  // namespace pel::doctor
