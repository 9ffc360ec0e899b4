#include "doctor/model/activity_roofs.h"

#include "doctor/model/op_cost.h"

namespace pel::doctor {

ActivityRoof ActivityRoofs::of(const Activity& activity) {
  const KernelFamily family = kernels_.family(activity.event);
  if (!uses_tensor_cores(family)) return {};
  const KernelName& kernel = kernels_.of(activity.event);
  ActivityRoof found{.roof = Roof::Unknown,
                     .dtype = kernel.a ? std::string_view(*kernel.a) : std::string_view()};
  if (family != KernelFamily::Gemm) {
    found.roof = Roof::Compute;
    return found;
  }
  const auto matmul = matmul_of(model_, model_.op_of_activity(activity));
  if (!matmul) return found;
  const std::string_view dtype = dtype_of_type(matmul->type);
  if (found.dtype.empty()) found.dtype = dtype;
  const Device* on = device(activity.device);
  if (on == nullptr || matmul->bytes() == 0) return found;
  const double peak = on->flops_per_second(dtype);
  if (peak == 0) return found;
  found.roof =
      matmul->flops() / peak >= matmul->bytes() / on->bytes_per_second() ? Roof::Compute : Roof::Memory;
  return found;
}

const Device* ActivityRoofs::device(std::int32_t id) {
  const auto [at, is_new] = devices_.try_emplace(id, nullptr);
  if (is_new) {
    const DeviceProperties* properties = model_.device(id);
    at->second = properties == nullptr ? nullptr : find_device(properties->name);
  }
  return at->second;
}

}  // namespace pel::doctor
