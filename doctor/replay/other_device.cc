#include "doctor/replay/other_device.h"

#include <map>

#include <fmt/format.h>

#include "doctor/model/activity_roofs.h"

namespace pel::doctor {
namespace {

constexpr std::string_view kUsualDtype = "bf16";  // of a matmul that nothing tells of

}  // namespace

OtherDevice::OtherDevice(const Examined& examined) {
  const Model& model = examined.model;
  ActivityRoofs roofs(model, examined.kernels);
  for (const std::int32_t id : model.active_devices()) {
    if (roofs.device(id) != nullptr) continue;
    const DeviceProperties* properties = model.device(id);
    refusal_ = properties == nullptr || properties->name.empty()
                   ? "the trace does not name its device"
                   : fmt::format("there is no data sheet for this trace's device, \"{}\"", properties->name);
    return;
  }
  std::map<ActivityClass, std::uint32_t> ids;
  for (const Activity& activity : model.activities()) {
    ActivityClass of_activity;
    if (activity.end_ns - activity.begin_ns > kTooShortNs &&
        !examined.kernels.is_collective(activity.event)) {
      of_activity.source = roofs.device(activity.device);
      const ActivityRoof found = roofs.of(activity);
      if (found.roof != Roof::Memory) of_activity.dtype = found.dtype.empty() ? kUsualDtype : found.dtype;
    }
    const auto [at, is_new] = ids.try_emplace(of_activity, static_cast<std::uint32_t>(classes_.size()));
    if (is_new) classes_.push_back(of_activity);
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
