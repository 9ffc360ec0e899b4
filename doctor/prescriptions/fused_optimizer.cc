// An optimizer that updates all parameters in one kernel.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "doctor/prescriptions/patient.h"

namespace pel::doctor {
namespace {

constexpr std::string_view kStep = "Optimizer.step#";
constexpr std::size_t kFewKernels = 4;

// The argument that makes it one kernel, or few, and the memory traffic that is left of PyTorch's op by op,
// each tensor once: of Adam 7 of 20 (parameter, gradient and two moments, three of them written), of SGD with
// momentum 5 of 8. Adagrad's kernel is for CPUs; over many tensors at once its traffic stays.
struct Fused {
  std::string_view name, argument;
  double kept;
};
const Fused* fused_for(std::string_view optimizer, bool is_foreach) {
  static constexpr Fused kFused[] = {
      {"Adam", "fused=True", 7.0 / 20}, {"SGD", "fused=True", 5.0 / 8}, {"Adagrad", "foreach=True", 1}};
  if (optimizer.find("Fused") != std::string_view::npos) return nullptr;
  for (const Fused& fused : kFused) {
    if (optimizer.starts_with(fused.name)) return is_foreach && fused.kept == 1 ? nullptr : &fused;
  }
  return nullptr;
}

}  // namespace

void propose_fused_optimizer(Patient& patient, std::vector<Prescription>& prescriptions) {
  if (!patient.has_device() || patient.model().is_synchronous()) return;
  const std::vector<EventId> spans = patient.spans_named(kStep);
  if (spans.empty()) return;
  const std::vector<std::vector<std::uint32_t>> within = patient.launched_within(spans);
  Prescription p;
  std::string_view optimizer, argument;
  bool is_foreach = false;
  std::int64_t kernels = 0;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    const std::string_view name = patient.events().name(spans[i]).substr(kStep.size());
    if (within[i].size() <= kFewKernels) continue;
    std::vector<std::uint32_t> updates;
    double ns = 0;
    bool is_fused = false;
    for (const std::uint32_t w : within[i]) {
      const std::string_view op = patient.op_name(w);
      is_fused |= op.starts_with("aten::_fused_");
      is_foreach |= op.starts_with("aten::_foreach_");
      if (patient.events().category(patient.model().activities()[w].event) != Category::Kernel ||
          patient.is_claimed(w))
        continue;
      updates.push_back(w);
      ns += static_cast<double>(patient.duration_ns(w));
    }
    const Fused* const fused = fused_for(name, is_foreach);
    if (is_fused || fused == nullptr || updates.size() <= kFewKernels) continue;
    for (const std::uint32_t w : updates) patient.claim(w);
    patient.fuse(p.change, updates, ns * fused->kept);
    argument = fused->argument;
    optimizer = name.substr(0, name.find('.'));
    kernels += static_cast<std::int64_t>(updates.size());
    p.where = p.where.empty() ? patient.line_of(spans[i]) : p.where;
    ++p.count;
    const std::int64_t host_ns = patient.events().duration_ns(spans[i]);
    p.bound_ns = saturating_add(p.bound_ns, std::max(host_ns, saturating_cast(ns)));
  }
  if (p.count == 0) return;
  p.key = "fused_optimizer";
  p.action = fmt::format("Update all parameters at once: {} launches {} kernels a step{}", optimizer,
                         kernels / p.count, is_foreach ? ", each over many tensors" : "");
  p.how = fmt::format("torch.optim.{}(..., {})", optimizer, argument);
  p.needs = "parameters are floating-point and on the device";
  p.effort = Effort::Setting;
  prescriptions.push_back(std::move(p));
}

}  // namespace pel::doctor
