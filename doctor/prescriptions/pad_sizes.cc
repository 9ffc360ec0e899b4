// Matmuls whose sizes do not fit tensor cores, where others of about their work are faster.
#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "doctor/model/op_cost.h"
#include "doctor/prescriptions/patient.h"

namespace pel::doctor {
namespace {

constexpr int kAlike =
    4;  // matmuls of up to so many times the work, or so many times less, are compared: half powers of 2

struct Sized {
  std::uint32_t activity;
  int size;  // its FLOPs, in half powers of 2
  double rate;
};
int size_of(double flops) { return flops < 1 ? 0 : static_cast<int>(2 * std::log2(flops)); }

}  // namespace

void propose_padded_sizes(Patient& patient, std::vector<Prescription>& prescriptions) {
  if (patient.model().is_synchronous()) return;
  std::map<std::pair<std::string, int>, double> best_rates;  // of those that fit, by dtype and size
  std::map<std::string, std::vector<Sized>> unfit;           // by dtype
  Prescription p;
  Misalignment worst;  // of the longest
  std::int64_t longest = 0;
  const std::span<const Activity> activities = patient.model().activities();
  for (std::uint32_t w = 0; w < activities.size(); ++w) {
    if (patient.examined().kernels.family(activities[w].event) != KernelFamily::Gemm ||
        patient.duration_ns(w) <= 0)
      continue;
    const auto sizes = matmul_of(patient.model(), patient.model().op_of_activity(activities[w]));
    if (!sizes) continue;
    const std::optional<Misalignment> misalignment = misalignment_of(*sizes);
    const double rate = sizes->flops() / static_cast<double>(patient.duration_ns(w));
    const int size = size_of(sizes->flops());
    if (!misalignment) {
      double& best = best_rates[{sizes->type, size}];
      best = std::max(best, rate);
      continue;
    }
    unfit[sizes->type].push_back({w, size, rate});
    if (patient.duration_ns(w) <= longest) continue;
    longest = patient.duration_ns(w);
    worst = *misalignment;
    p.where = patient.place_of_activity(w);
  }
  for (const auto& [type, list] : unfit) {
    for (const Sized& slow : list) {
      double best = slow.rate;
      for (auto at = best_rates.lower_bound({type, slow.size - kAlike});
           at != best_rates.end() && at->first <= std::pair(type, slow.size + kAlike); ++at)
        best = std::max(best, at->second);
      if (best <= slow.rate) continue;
      patient.scale(p.change, slow.activity, slow.rate / best);
      p.bound_ns = saturating_add(
          p.bound_ns,
          saturating_cast((1 - slow.rate / best) * static_cast<double>(patient.duration_ns(slow.activity))));
      ++p.count;
    }
  }
  if (p.count == 0) return;
  p.key = "pad_sizes";
  p.action = fmt::format("Pad sizes of matmuls to a multiple of {}: {}", worst.multiple, worst.axes);
  p.how = fmt::format("pad the vocabulary, heads or batch: (size + {}) // {} * {}", worst.multiple - 1,
                      worst.multiple, worst.multiple);
  p.needs = "padded they run as fast as the matmuls of this trace that fit";
  prescriptions.push_back(std::move(p));
}

}  // namespace pel::doctor
