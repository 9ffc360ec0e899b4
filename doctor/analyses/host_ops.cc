// Ops that ran on the host, for runs without a device.
#include "doctor/analyses/analysis.h"
#include "doctor/analyses/sums.h"
#include "doctor/model/saturating.h"

namespace pel::doctor {
namespace {

struct OpTime {
  std::int64_t calls = 0;
  SaturatingSum self_ns, total_ns;
};

}  // namespace

std::optional<Finding> analyse_host_ops(const Examined& examined) {
  const Model& model = examined.model;
  const EventTable& events = model.events();
  if (!model.activities().empty()) return std::nullopt;
  // What an op spent in other ops is theirs.
  std::vector<SaturatingSum> inner(events.size());
  std::map<std::string_view, OpTime> ops;
  for (const RowId row : model.host_rows()) {
    for (const EventId e : model.of_row(row)) {
      if (events.category(e) != Category::CpuOp) continue;
      const EventId around = model.parent(e) == kNoEvent ? kNoEvent : model.op_of(model.parent(e));
      if (around != kNoEvent) inner[around] += events.duration_ns(e);
    }
  }
  std::int64_t calls = 0;
  SaturatingSum all_ns;
  for (const RowId row : model.host_rows()) {
    for (const EventId e : model.of_row(row)) {
      if (events.category(e) != Category::CpuOp) continue;
      OpTime& op = ops[events.name(e)];
      const std::int64_t self = std::max<std::int64_t>(0, events.duration_ns(e) - inner[e]);
      ++op.calls;
      op.self_ns += self;
      op.total_ns += events.duration_ns(e);
      all_ns += self;
      ++calls;
    }
  }
  if (calls == 0) return std::nullopt;
  Finding finding{.key = "host_ops", .title = "Host ops"};
  finding.facts = {{"calls", "calls", calls, Unit::Count}, {"time_ns", "time", all_ns, Unit::Nanoseconds}};
  Table table{.key = "ops",
              .title = "by self time",
              .columns = {{"op", "op", Unit::None, true},
                          {"calls", "calls", Unit::Count},
                          {"self_ns", "self time", Unit::Nanoseconds},
                          {"share", "of all", Unit::Percent},
                          {"total_ns", "total time", Unit::Nanoseconds}},
              .rows = {}};
  for (const auto& [op, time] : by_largest(ops, [](const OpTime& t) { return t.self_ns; }))
    table.rows.push_back(
        {std::string(*op), time->calls, time->self_ns, percent_of(time->self_ns, all_ns), time->total_ns});
  finding.tables.push_back(std::move(table));
  return finding;
}

}  // namespace pel::doctor
