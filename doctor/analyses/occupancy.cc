// Kernels too small for the device: fewer blocks than it has multiprocessors, or few threads on each.
#include "doctor/analyses/analysis.h"
#include "doctor/analyses/sums.h"
#include "doctor/model/devices.h"
#include "doctor/model/saturating.h"

namespace pel::doctor {
namespace {

constexpr float kLowOccupancyPercent = 25;

struct GridSum {
  std::int64_t count = 0;
  SaturatingSum ns;
};
struct GridOf {
  NameId name;
  std::int64_t blocks, threads;
  float occupancy;
  std::int64_t multiprocessors;
  auto operator<=>(const GridOf&) const = default;
};

std::int64_t multiprocessors_of(const Model& model, std::int32_t id) {
  const DeviceProperties* properties = model.device(id);
  if (properties == nullptr) return 0;
  if (properties->multiprocessors > 0) return properties->multiprocessors;
  const Device* device = find_device(properties->name);
  return device == nullptr ? 0 : device->multiprocessors;
}

}  // namespace

std::optional<Finding> analyse_occupancy(const Examined& examined) {
  const Model& model = examined.model;
  const EventTable& events = model.events();
  std::map<std::int32_t, std::int64_t> multiprocessors;
  std::map<GridOf, GridSum> small;
  std::map<NameId, EventId> examples;
  std::int64_t known = 0, small_count = 0, low_count = 0;
  SaturatingSum kernels_ns, small_ns, low_ns;
  for (const Activity& activity : model.activities()) {
    if (events.category(activity.event) != Category::Kernel || examined.kernels.is_collective(activity.event))
      continue;
    const std::int64_t ns = activity.end_ns - activity.begin_ns;
    kernels_ns += ns;
    const LaunchShape shape = events.launch_shape(*events.device_args(activity.event));
    const auto [at, is_new] = multiprocessors.try_emplace(activity.device, 0);
    if (is_new) at->second = multiprocessors_of(model, activity.device);
    if (shape.blocks() <= 0) continue;
    ++known;
    const bool is_small = at->second > 0 && shape.blocks() < at->second;
    // An estimate of 0 is what the profiler writes for tiny grids.
    // Matmuls hold their tiles in registers, and are at their best with few threads.
    const bool is_low = !is_small && !uses_tensor_cores(examined.kernels.family(activity.event)) &&
                        shape.occupancy_percent > 0 && shape.occupancy_percent < kLowOccupancyPercent;
    if (is_small) {
      ++small_count;
      small_ns += ns;
    }
    if (is_low) {
      ++low_count;
      low_ns += ns;
    }
    if (!is_small && !is_low) continue;
    const NameId id = events.name_id(activity.event);
    examples.try_emplace(id, activity.event);
    GridSum& sum = small[{id, shape.blocks(), shape.threads(), shape.occupancy_percent, at->second}];
    ++sum.count;
    sum.ns += ns;
  }
  if (known == 0 || small.empty()) return std::nullopt;
  Finding finding{.key = "occupancy", .title = "Kernels too small for the device"};
  finding.facts = {
      {"small_grids", "fewer blocks than multiprocessors", small_count, Unit::Count},
      {"small_grids_share", "of kernel time", percent_of(small_ns, kernels_ns), Unit::Percent},
      {"low_occupancy", "others below 25 % estimated occupancy", low_count, Unit::Count},
      {"low_occupancy_share", "of kernel time", percent_of(low_ns, kernels_ns), Unit::Percent},
  };
  Table table{.key = "kernels",
              .title = "by time",
              .columns = {{"time_ns", "time", Unit::Nanoseconds},
                          {"count", "runs", Unit::Count},
                          {"blocks", "blocks", Unit::Count},
                          {"multiprocessors", "of", Unit::Count},
                          {"threads", "threads", Unit::Count},
                          {"occupancy", "occupancy", Unit::Percent},
                          {"title", "kernel", Unit::None, true},
                          {"name", ""}},
              .rows = {}};
  for (const auto& [grid, sum] : by_largest(small, [](const GridSum& s) { return s.ns; }))
    table.rows.push_back({sum->ns, sum->count, grid->blocks,
                          grid->multiprocessors == 0 ? Value() : Value(grid->multiprocessors), grid->threads,
                          grid->occupancy < 0 ? Value() : Value(static_cast<double>(grid->occupancy)),
                          examined.kernels.of(examples.at(grid->name)).title,
                          std::string(events.names[grid->name])});
  finding.tables.push_back(std::move(table));
  return finding;
}

}  // namespace pel::doctor
