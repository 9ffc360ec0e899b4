// One kernel of a library for a norm, a gated activation or a cross-entropy that is written op by op.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "doctor/analyses/sums.h"
#include "doctor/model/op_traffic.h"
#include "doctor/prescriptions/patient.h"

namespace pel::doctor {
namespace {

struct Tuned {
  std::string_view name, how;
};
constexpr Tuned kRmsNorm{"RMSNorm", "torch.nn.functional.rms_norm, or LigerRMSNorm for training"};
constexpr Tuned kLayerNorm{"layer norm", "torch.nn.functional.layer_norm, or LigerLayerNorm for training"};
constexpr Tuned kSoftmax{"softmax", "torch.softmax of the whole expression under torch.compile"};
constexpr Tuned kSwiGlu{"SwiGLU", "LigerSwiGLUMLP, or torch.compile of the MLP alone"};
constexpr Tuned kGeGlu{"GeGLU", "LigerGEGLUMLP, or torch.compile of the MLP alone"};
constexpr Tuned kCrossEntropy{
    "cross-entropy",
    "LigerCrossEntropyLoss, or LigerFusedLinearCrossEntropyLoss, which does not make the logits"};

bool has(const std::vector<std::string_view>& ops, std::string_view op) {
  return std::ranges::find(ops, op) != ops.end();
}

// What a chain computes, if a library has it as one kernel.
const Tuned* tuned_for(const std::vector<std::string_view>& ops, bool is_norm) {
  if (has(ops, "rsqrt") && (has(ops, "pow") || has(ops, "mul")) && has(ops, "mean"))
    return has(ops, "sub") ? &kLayerNorm : &kRmsNorm;
  if (is_norm && (has(ops, "var") || has(ops, "std"))) return &kLayerNorm;
  if (is_norm && has(ops, "exp") && has(ops, "sum")) return &kSoftmax;
  if (ops.size() == 2 && ops[1] == "mul" && ops[0] == "silu") return &kSwiGlu;
  if (ops.size() == 2 && ops[1] == "mul" && ops[0] == "gelu") return &kGeGlu;
  return nullptr;
}

// Of the traffic of a chain, what one kernel needs: a norm reads what the first op reads and writes what the
// last one writes, though ops between read its input again; of others, what is left without the results
// between them.
double kept_of(const Patient& patient, const ChainSum& sum) {
  double kept = 1 - (sum.saved_ns() - static_cast<double>(sum.gaps_ns)) / static_cast<double>(sum.ns);
  if (!sum.is_norm || sum.moved_bytes <= 0) return kept;
  const auto traffic = [&](std::uint32_t w) {
    const Activity& activity = patient.model().activities()[w];
    return traffic_of(patient.model(), patient.model().op_of_activity(activity),
                      patient.examined().kernels.family(activity.event));
  };
  const auto first = traffic(sum.links.front()),
             last = traffic(sum.links[static_cast<std::size_t>(sum.kernels) - 1]);
  if (!first || !last) return kept;
  const double needed = (first->read_bytes + last->written_bytes) * static_cast<double>(sum.count);
  return std::min(kept, needed / sum.moved_bytes);
}

// log_softmax reads and writes the logits, its gradient reads two of them and writes one, and the loss clears
// one: six in all. One kernel reads them once and writes the gradient in their place: two.
constexpr double kCrossEntropyKept = 2.0 / 6;

void add_cross_entropy(Patient& patient, std::map<const Tuned*, Prescription>& found) {
  static constexpr std::string_view kOps[] = {"aten::_log_softmax", "aten::nll_loss_forward",
                                              "aten::nll_loss_backward", "aten::_log_softmax_backward_data"};
  std::vector<std::uint32_t> kernels;
  std::array<std::int64_t, std::size(kOps)> counts{};
  for (std::uint32_t w = 0; w < patient.model().activities().size(); ++w) {
    const auto at = std::ranges::find(kOps, patient.op_name(w));
    if (at == std::end(kOps) || patient.is_claimed(w)) continue;
    ++counts[static_cast<std::size_t>(at - std::begin(kOps))];
    kernels.push_back(w);
  }
  if (counts[0] == 0 || counts[1] == 0) return;
  Prescription& p = found[&kCrossEntropy];
  SaturatingSum ns;
  for (const std::uint32_t w : kernels) {
    patient.claim(w);
    patient.scale(p.change, w, kCrossEntropyKept);
    ns += patient.duration_ns(w);
  }
  p.count += counts[0];
  p.bound_ns = saturating_add(p.bound_ns, saturating_cast((1 - kCrossEntropyKept) * static_cast<double>(ns)));
  if (p.where.empty()) p.where = patient.place_of_activity(kernels.front());
}

}  // namespace

void propose_tuned_kernels(Patient& patient, std::vector<Prescription>& prescriptions) {
  if (!patient.has_device() || patient.model().is_synchronous()) return;
  const std::shared_ptr<const FoundChains> chains = chains_of(patient.examined());
  std::map<const Tuned*, Prescription> found;
  for (const auto& [kind, sum] : chains->kinds) {
    std::vector<std::string_view> ops;
    for (const NameId id : kind.ops) ops.push_back(without_namespace(patient.events().names[id]));
    const Tuned* const tuned = tuned_for(ops, sum.is_norm);
    const auto length = static_cast<std::size_t>(sum.kernels);
    if (tuned == nullptr || sum.ns <= 0) continue;
    Prescription& p = found[tuned];
    const double kept = kept_of(patient, sum);
    for (std::size_t at = 0; at + length <= sum.links.size(); at += length) {
      const std::span<const std::uint32_t> links(&sum.links[at], length);
      if (std::ranges::any_of(links, [&](std::uint32_t w) { return patient.is_claimed(w); })) continue;
      double ns = 0;
      for (const std::uint32_t w : links) {
        ns += static_cast<double>(patient.duration_ns(w));
        patient.claim(w);
      }
      patient.fuse(p.change, links, ns * kept);
      ++p.count;
      p.bound_ns = saturating_add(p.bound_ns, saturating_cast(ns));
      if (p.where.empty()) p.where = patient.place_of_activity(links.front());
    }
  }
  add_cross_entropy(patient, found);
  for (auto& [tuned, p] : found) {
    if (p.count == 0) continue;
    p.key = "tuned_kernel";
    p.action = fmt::format("Use one kernel for the {}, which is written op by op", tuned->name);
    if (tuned == &kCrossEntropy)
      p.action = "Use one kernel for the cross-entropy: its logits pass through memory six times";
    p.how = tuned->how;
    p.needs = "the library has the kernel for this device and dtype";
    prescriptions.push_back(std::move(p));
  }
}

}  // namespace pel::doctor
