// Attention of two matmuls with a softmax between them, whose scores pass through memory.
#include <map>

#include <fmt/format.h>

#include "doctor/prescriptions/patient.h"

namespace pel::doctor {
namespace {

constexpr std::size_t kMaxBetween = 12;

bool is_batched_matmul(const Patient& patient, std::uint32_t w) {
  const std::string_view op = patient.op_name(w);
  return op == "aten::bmm" || op == "aten::baddbmm";
}

}  // namespace

void propose_flash_attention(Patient& patient, std::vector<Prescription>& prescriptions) {
  if (!patient.has_device() || patient.model().is_synchronous()) return;
  struct Open {
    bool is_open = false, has_softmax = false;
    std::vector<std::uint32_t> between;
  };
  std::map<std::pair<std::int32_t, std::int32_t>, Open> streams;
  Prescription p;
  const std::span<const Activity> activities = patient.model().activities();
  for (std::uint32_t w = 0; w < activities.size(); ++w) {
    Open& open = streams[{activities[w].device, activities[w].stream}];
    const KernelFamily family = patient.examined().kernels.family(activities[w].event);
    if (family == KernelFamily::Gemm && is_batched_matmul(patient, w)) {
      if (open.is_open && open.has_softmax) {
        for (const std::uint32_t between : open.between) {
          patient.claim(between);
          patient.leave_out(p.change, between);
          p.bound_ns = saturating_add(p.bound_ns, patient.duration_ns(between));
        }
        ++p.count;
        if (p.where.empty()) p.where = patient.place_of_activity(w);
      }
      open = {.is_open = !(open.is_open && open.has_softmax), .has_softmax = false, .between = {}};
      continue;
    }
    const bool may_be_between = family == KernelFamily::Softmax || family == KernelFamily::Elementwise ||
                                family == KernelFamily::Copy || family == KernelFamily::Random;
    if (!open.is_open || !may_be_between || open.between.size() == kMaxBetween) {
      open = {};
      continue;
    }
    open.has_softmax |= family == KernelFamily::Softmax;
    open.between.push_back(w);
  }
  if (p.count == 0) return;
  p.key = "flash_attention";
  p.action = "Use fused attention: scores are written to memory and read again between two matmuls";
  p.how =
      "torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=...), or "
      "attn_implementation=\"sdpa\"";
  p.needs = "the fused kernels support the head size and the mask";
  prescriptions.push_back(std::move(p));
}

}  // namespace pel::doctor
