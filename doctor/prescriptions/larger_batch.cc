// A larger batch, where kernels are too small for the device or ops too small for their own cost.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "doctor/analyses/sums.h"
#include "doctor/model/devices.h"
#include "doctor/prescriptions/limits.h"
#include "doctor/prescriptions/patient.h"

namespace pel::doctor {
namespace {

constexpr int kTimesOnDevice = 2;  // the batch: twice as much, which can be done again
constexpr int kTimesOnHost = 8;
constexpr double kMinSmallPercent = 50;  // of kernel time in grids that leave multiprocessors without work
constexpr std::size_t kMinHostOps = 20;  // of which their usual cost can be told
constexpr std::int64_t kMaxCallNs = 20'000;
constexpr std::size_t kCheapest = 20;  // one of so many ops of the host is as cheap as its call

void add_larger_on_device(Patient& patient, std::vector<Prescription>& prescriptions) {
  const Model& model = patient.model();
  if (model.is_synchronous()) return;
  SaturatingSum all_ns, small_ns;
  Prescription p;
  const std::span<const Activity> activities = model.activities();
  for (std::uint32_t w = 0; w < activities.size(); ++w) {
    const EventId e = activities[w].event;
    if (patient.examined().kernels.is_collective(e)) continue;
    bool is_small = false;
    if (patient.events().category(e) == Category::Kernel) {
      all_ns += patient.duration_ns(w);
      const DeviceProperties* const device = model.device(activities[w].device);
      const std::int64_t blocks = patient.events().launch_shape(*patient.events().device_args(e)).blocks();
      is_small = device != nullptr && blocks > 0 &&
                 saturating_mul(blocks, kTimesOnDevice) <= device->multiprocessors;
    }
    if (is_small) {
      small_ns += patient.duration_ns(w);
      ++p.count;
    } else {
      patient.scale(p.change, w, kTimesOnDevice);  // twice the work takes twice the time
    }
  }
  if (percent_of(small_ns, all_ns) < kMinSmallPercent) return;
  p.key = "larger_batch";
  p.action =
      fmt::format("Use a batch {} times as large: most kernels leave half of the device or more without work",
                  kTimesOnDevice);
  p.how =
      "DataLoader(batch_size=...), with the learning rate adapted; for inference, serve requests together";
  p.needs = "there is memory for it; the gain is per sample";
  p.effort = Effort::Rewrite;
  p.batches = kTimesOnDevice;
  p.bound_ns = patient.total_ns() / kTimesOnDevice;
  prescriptions.push_back(std::move(p));
}

// Each op costs its call, and the rest grows with the batch.
void add_larger_on_host(Patient& patient, std::vector<Prescription>& prescriptions) {
  const EventTable& events = patient.events();
  if (patient.host_ops().size() < kMinHostOps) return;
  const std::vector<EventId>& ops = patient.host_ops();
  std::vector<std::int64_t> calls;  // what one op costs, by those that it calls
  for (std::size_t i = 0; i < ops.size(); ++i)
    calls.push_back(events.duration_ns(ops[i]) / static_cast<std::int64_t>(patient.ops_in(i)));
  std::ranges::sort(calls);
  const std::int64_t call_ns = std::min(kMaxCallNs, calls[calls.size() / kCheapest]);
  // By step: what calls take, and Python between them.
  std::map<std::uint32_t, SaturatingSum> overheads;
  SaturatingSum all_overhead_ns;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    std::int64_t ns = std::min(events.duration_ns(ops[i]),
                               saturating_mul(call_ns, static_cast<std::int64_t>(patient.ops_in(i))));
    const std::uint32_t step = patient.model().step_at(events.begin_ns(ops[i]));
    if (i != 0 && patient.model().step_at(events.begin_ns(ops[i - 1])) == step) {
      const std::int64_t pause = events.begin_ns(ops[i]) - events.end_ns(ops[i - 1]);
      if (pause <= kLongestDispatchNs) ns += std::max<std::int64_t>(0, pause);
    }
    overheads[step] += ns;
    all_overhead_ns += ns;
  }
  if (2 * all_overhead_ns < patient.total_ns()) return;
  Prescription& p = prescriptions.emplace_back();
  p.key = "larger_batch";
  p.action =
      fmt::format("Use a batch {} times as large: calls of ops take longer than their work", kTimesOnHost);
  p.how =
      "DataLoader(batch_size=...), with the learning rate adapted; for inference, serve requests together";
  p.needs = "there is memory for it; the gain is per sample";
  p.effort = Effort::Rewrite;
  p.count = static_cast<std::int64_t>(ops.size());
  p.batches = kTimesOnHost;
  const auto cut = [&](std::int64_t begin_ns, std::int64_t end_ns, std::int64_t overhead_ns) {
    if (end_ns <= begin_ns) return;
    const double overhead =
        std::min(1.0, static_cast<double>(overhead_ns) / static_cast<double>(end_ns - begin_ns));
    p.cuts.push_back({begin_ns, end_ns, overhead / kTimesOnHost + 1 - overhead});
  };
  if (patient.model().has_marked_steps()) {
    for (const auto& [step, overhead_ns] : overheads) {
      if (step < patient.model().steps().size())
        cut(patient.model().steps()[step].begin_ns, patient.model().steps()[step].end_ns, overhead_ns);
    }
  } else {
    cut(patient.host_begin_ns(), patient.host_end_ns(), all_overhead_ns);
  }
  p.bound_ns = patient.total_ns();
}

}  // namespace

void propose_larger_batch(Patient& patient, std::vector<Prescription>& prescriptions) {
  if (patient.has_device()) {
    add_larger_on_device(patient, prescriptions);
  } else {
    add_larger_on_host(patient, prescriptions);
  }
}

}  // namespace pel::doctor
