#include "doctor/model/work_roofs.h"

#include "doctor/model/op_cost.h"

namespace pel::doctor {

WorkRoof WorkRoofs::of(const Work& work) {
  const KernelFamily family = kernels_.family(work.event);
  if (!is_product(family)) return {};
  const KernelName& kernel = kernels_.of(work.event);
  WorkRoof found{.roof = Roof::Unknown, .dtype = kernel.a ? std::string_view(*kernel.a) : std::string_view()};
  if (family != KernelFamily::Gemm) {
    found.roof = Roof::Compute;
    return found;
  }
  const auto product = product_of(model_, model_.op_of_work(work));
  if (!product) return found;
  const std::string_view dtype = dtype_of_type(product->type);
  if (found.dtype.empty()) found.dtype = dtype;
  const Device* on = device(work.device);
  if (on == nullptr || product->bytes() == 0) return found;
  const double peak = on->flops_per_second(dtype);
  if (peak == 0) return found;
  found.roof =
      product->flops() / peak >= product->bytes() / on->bytes_per_second() ? Roof::Compute : Roof::Memory;
  return found;
}

const Device* WorkRoofs::device(std::int32_t id) {
  const auto [at, is_new] = devices_.try_emplace(id, nullptr);
  if (is_new) {
    const DeviceProperties* properties = model_.device(id);
    at->second = properties == nullptr ? nullptr : find_device(properties->name);
  }
  return at->second;
}

}  // namespace pel::doctor
