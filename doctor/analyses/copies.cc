// Copies between host and device, and kernels that only move data.
#include "doctor/analyses/analysis.h"
#include "doctor/analyses/sums.h"
#include "doctor/model/saturating.h"

namespace pel::doctor {
namespace {

struct CopySum {
  std::int64_t count = 0;
  SaturatingSum ns, bytes;
};

bool is_pageable(std::string_view name) { return contains(name, "Pageable"); }

}  // namespace

std::optional<Finding> analyse_copies(const Examined& examined) {
  const Model& model = examined.model;
  const EventTable& events = model.events();
  std::map<std::string_view, CopySum> directions;
  std::map<NameId, CopySum> moving;
  std::map<NameId, EventId> examples;
  CopySum all, pageable, moved;
  for (const Activity& activity : model.activities()) {
    const std::int64_t ns = activity.end_ns - activity.begin_ns;
    const auto add = [&](CopySum& sum, std::int64_t bytes) {
      ++sum.count;
      sum.ns += ns;
      sum.bytes += std::max<std::int64_t>(0, bytes);
    };
    if (events.category(activity.event) == Category::Memcpy) {
      const std::int64_t bytes = events.device_args(activity.event)->bytes;
      add(directions[events.name(activity.event)], bytes);
      add(all, bytes);
      if (is_pageable(events.name(activity.event))) add(pageable, bytes);
    } else if (events.category(activity.event) == Category::Kernel &&
               examined.kernels.family(activity.event) == KernelFamily::Copy) {
      const NameId id = events.name_id(activity.event);
      examples.try_emplace(id, activity.event);
      add(moving[id], 0);
      add(moved, 0);
    }
  }
  if (directions.empty() && moving.empty()) return std::nullopt;
  const std::int64_t busy = examined.time.all().busy_ns;
  Finding finding{.key = "copies", .title = "Copies"};
  finding.facts = {
      {"copies", "copies", all.count, Unit::Count},
      {"bytes", "bytes", all.bytes, Unit::Bytes},
      {"time_ns", "time", all.ns, Unit::Nanoseconds},
      {"moving_kernels", "kernels that only move data", moved.count, Unit::Count},
      {"moving_share", "of busy time", percent_of(moved.ns, busy), Unit::Percent},
  };
  if (pageable.count != 0)
    finding.sentences.emplace_back(
        "Copies of pageable memory go through a staging buffer of the driver and block the host: use "
        "pin_memory() and "
        "non_blocking=True.");
  if (!directions.empty()) {
    Table table{.key = "directions",
                .title = "by direction",
                .columns = {{"direction", "copy", Unit::None, true},
                            {"count", "times", Unit::Count},
                            {"bytes", "bytes", Unit::Bytes},
                            {"time_ns", "time", Unit::Nanoseconds},
                            {"bytes_per_second", "speed", Unit::BytesPerSecond}},
                .rows = {}};
    for (const auto& [direction, sum] : by_largest(directions, [](const CopySum& s) { return s.ns; }))
      table.rows.push_back({std::string(*direction), sum->count, sum->bytes, sum->ns,
                            sum->ns == 0 || sum->bytes == 0 ? Value()
                                                            : Value(1e9 * static_cast<double>(sum->bytes) /
                                                                    static_cast<double>(sum->ns))});
    finding.tables.push_back(std::move(table));
  }
  if (!moving.empty()) {
    Table table{.key = "moving_kernels",
                .title = "kernels that only move data",
                .columns = {{"time_ns", "time", Unit::Nanoseconds},
                            {"share", "of busy", Unit::Percent},
                            {"count", "runs", Unit::Count},
                            {"title", "kernel", Unit::None, true},
                            {"name", ""}},
                .rows = {},
                .shown = 5};
    for (const auto& [id, sum] : by_largest(moving, [](const CopySum& s) { return s.ns; }))
      table.rows.push_back({sum->ns, percent_of(sum->ns, busy), sum->count,
                            examined.kernels.of(examples.at(*id)).title, std::string(events.names[*id])});
    finding.tables.push_back(std::move(table));
  }
  return finding;
}

}  // namespace pel::doctor
