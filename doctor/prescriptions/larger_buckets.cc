// Many small collectives, each of which costs its latency.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/median.h"
#include "base/readable.h"
#include "doctor/model/op_cost.h"
#include "doctor/prescriptions/patient.h"

namespace pel::doctor {
namespace {

constexpr double kSmallBytes = 1 << 20;    // far below, a link does not reach its speed
constexpr double kBucketBytes = 25 << 20;  // of PyTorch, by default
constexpr std::size_t kMany = 8;           // in a step

struct Sent {
  std::uint32_t activity;
  double bytes;
};

}  // namespace

void propose_larger_buckets(Patient& patient, std::vector<Prescription>& prescriptions) {
  std::map<std::uint32_t, std::vector<Sent>> steps;
  const std::span<const Activity> activities = patient.model().activities();
  for (std::uint32_t w = 0; w < activities.size(); ++w) {
    if (!patient.examined().kernels.is_collective(activities[w].event)) continue;
    const CollectiveArgs* const args = patient.events().collective(activities[w].event);
    if (args == nullptr || args->elements <= 0) continue;
    const std::string_view dtype = patient.events().names[args->dtype];
    const int bytes = std::max(1, bytes_of_type(dtype));
    const double size = static_cast<double>(args->elements) * bytes;
    if (size < kSmallBytes) steps[activities[w].step].push_back({w, size});
  }
  Prescription p;
  double all_bytes = 0;
  for (const auto& [number, list] : steps) {
    if (list.size() < kMany) continue;
    // The shortest shows what one costs whatever it sends.
    std::int64_t latency_ns = patient.duration_ns(list.front().activity);
    double bytes = 0;
    for (const Sent& sent : list) {
      latency_ns = std::min(latency_ns, patient.duration_ns(sent.activity));
      bytes += sent.bytes;
    }
    const auto buckets = static_cast<std::size_t>(bytes / kBucketBytes) + 1;
    for (std::size_t i = buckets; i < list.size(); ++i) {
      const std::int64_t ns = patient.duration_ns(list[i].activity);
      if (ns <= 0) continue;
      const EventId launch = activities[list[i].activity].launch;
      if (launch != kNoEvent && patient.model().launched_by(launch).size() == 1)
        patient.leave_out_call(p.change, launch);
      patient.scale(p.change, list[i].activity,
                    static_cast<double>(ns - latency_ns) / static_cast<double>(ns));
      p.bound_ns = saturating_add(p.bound_ns, latency_ns);
      ++p.count;
    }
    all_bytes = std::max(all_bytes, bytes);
    if (p.where.empty() && p.count != 0) p.where = patient.place_of_activity(list.front().activity);
  }
  if (p.count == 0) return;
  p.key = "larger_buckets";
  p.action = fmt::format(
      "Send gradients together: a step has many collectives for {} in all, and each costs its latency",
      readable_bytes(saturating_cast(all_bytes)));
  p.how =
      "DistributedDataParallel(bucket_cap_mb=25), or torch.distributed._coalescing_manager around the calls";
  p.needs = "the collectives do not depend on each other";
  prescriptions.push_back(std::move(p));
}

}  // namespace pel::doctor
