#include "doctor/replay/other_device.h"

#include <map>

#include <fmt/format.h>

#include "doctor/model/work_roofs.h"

namespace pel::doctor {
namespace {

constexpr std::string_view kUsualDtype = "bf16";  // of a product that nothing tells of

}  // namespace

OtherDevice::OtherDevice(const Examined& examined) {
  const Model& model = examined.model;
  WorkRoofs roofs(model, examined.kernels);
  for (const std::int32_t id : model.work_devices()) {
    if (roofs.device(id) != nullptr) continue;
    const DeviceProperties* properties = model.device(id);
    refusal_ = properties == nullptr || properties->name.empty()
                   ? "the trace does not name its device"
                   : fmt::format("no data sheet of this trace's device, \"{}\", is known", properties->name);
    return;
  }
  std::map<WorkClass, std::uint32_t> ids;
  for (const Work& work : model.work()) {
    WorkClass of_work;
    if (work.end_ns - work.begin_ns > kTooShortNs && !examined.kernels.is_collective(work.event)) {
      of_work.source = roofs.device(work.device);
      const WorkRoof found = roofs.of(work);
      if (found.roof != Roof::Memory) of_work.dtype = found.dtype.empty() ? kUsualDtype : found.dtype;
    }
    const auto [at, is_new] = ids.try_emplace(of_work, static_cast<std::uint32_t>(classes_.size()));
    if (is_new) classes_.push_back(of_work);
    class_of_.push_back(at->second);
  }
}

float OtherDevice::factor(std::uint32_t of_class, const Device& target) const {
  const auto& [source, dtype] = classes_[of_class];
  if (source == nullptr) return 1;
  const double from = source->flops_per_second(dtype), to = target.flops_per_second(dtype);
  return static_cast<float>(from > 0 && to > 0 ? from / to
                                               : source->bytes_per_second() / target.bytes_per_second());
}

}  // namespace pel::doctor
