// Matmuls in float32 on a device with tensor cores.
#include <algorithm>

#include <fmt/format.h>

#include "doctor/model/activity_roofs.h"
#include "doctor/model/op_cost.h"
#include "doctor/prescriptions/patient.h"

namespace pel::doctor {

void propose_narrow_matmuls(Patient& patient, std::vector<Prescription>& prescriptions) {
  if (patient.model().is_synchronous()) return;
  ActivityRoofs roofs(patient.model(), patient.examined().kernels);
  Prescription p;
  bool has_tf32 = false;
  std::int64_t longest = 0;
  const std::span<const Activity> activities = patient.model().activities();
  for (std::uint32_t w = 0; w < activities.size(); ++w) {
    if (patient.events().category(activities[w].event) != Category::Kernel) continue;
    const KernelName& kernel = patient.examined().kernels.of(activities[w].event);
    if (*kernel.family != KernelFamily::Gemm && *kernel.family != KernelFamily::Convolution) continue;
    if (!kernel.tensor_cores || *kernel.tensor_cores) continue;
    const auto sizes = matmul_of(patient.model(), patient.model().op_of_activity(activities[w]));
    if (kernel.a ? *kernel.a != "f32" : !sizes || dtype_of_type(sizes->type) != "f32") continue;
    const Device* const device = roofs.device(activities[w].device);
    if (device == nullptr || device->dense.f32 == 0) continue;
    const double narrow = device->dense.tf32 != 0 ? device->dense.tf32 : device->dense.f16;
    if (narrow <= device->dense.f32) continue;
    has_tf32 |= device->dense.tf32 != 0;
    const auto ns = static_cast<double>(patient.duration_ns(w));
    double after_ns = ns * device->dense.f32 / narrow;
    if (sizes) after_ns = std::min(ns, std::max(after_ns, 1e9 * sizes->bytes() / device->bytes_per_second()));
    if (ns <= 0 || after_ns >= ns) continue;
    patient.scale(p.change, w, after_ns / ns);
    p.bound_ns = saturating_add(p.bound_ns, saturating_cast(ns - after_ns));
    ++p.count;
    if (patient.duration_ns(w) > longest) {
      longest = patient.duration_ns(w);
      p.where = patient.place_of_activity(w);
    }
  }
  if (p.count == 0) return;
  p.key = "narrow_matmuls";
  p.action = "Run float32 matmuls on tensor cores, which they do not use now";
  p.how = has_tf32 ? "torch.set_float32_matmul_precision(\"high\") for TF32, or torch.autocast(\"cuda\", "
                     "dtype=torch.bfloat16)"
                   : "torch.autocast(\"cuda\", dtype=torch.float16) with a GradScaler";
  p.needs = "the model bears matmuls with 10 bits of mantissa; the gain is that of the data sheet's peaks";
  p.effort = Effort::Setting;
  prescriptions.push_back(std::move(p));
}

}  // namespace pel::doctor
