// Sync points: the op, the source line and the cost of each wait for the device.
#include <fmt/format.h>

#include "base/readable.h"
#include "doctor/analyses/analysis.h"
#include "doctor/analyses/sums.h"
#include "doctor/model/saturating.h"

namespace pel::doctor {
namespace {

constexpr std::size_t kFrames = 3;

struct SyncSum {
  std::int64_t count = 0;
  SaturatingSum waited_ns, idle_ns, queued;
};
struct SyncLocation {
  std::string call;  // and why it waits, if the trace says so
  std::string chain, stack;
  auto operator<=>(const SyncLocation&) const = default;
};

std::string joined_stack(const std::vector<std::string>& frames) {
  std::string text;
  for (const std::string& frame : frames) text += (text.empty() ? "" : " < ") + frame;
  return text;
}

}  // namespace

std::optional<Finding> analyse_syncs(const Examined& examined) {
  const Model& model = examined.model;
  const EventTable& events = model.events();
  std::unordered_map<EventId, SaturatingSum> idle;  // after a wait
  for (const Gap& gap : examined.time.gaps()) {
    if (gap.cause == IdleCause::Sync && gap.blame != kNoEvent) idle[gap.blame] += gap.duration_ns();
  }
  std::map<SyncLocation, SyncSum> places;
  std::int64_t calls = 0, copies = 0;
  bool knows_queued = false;
  SaturatingSum waited_ns, idle_ns;
  for (EventId e = 0; e < events.size(); ++e) {
    if (!events.is_call(e) || !examined.time.is_wait(e)) continue;
    const bool is_copy = !events.is_sync_call(e);
    (is_copy ? copies : calls) += 1;
    const WaitReason* const reason = events.wait_reason(e);
    const std::string call = reason == nullptr
                                 ? std::string(events.name(e))
                                 : fmt::format("{} {}", events.name(e), events.names[reason->why]);
    SyncSum& sum = places[{call, model.op_chain(e), joined_stack(model.stack_of(e, kFrames))}];
    if (reason != nullptr && reason->queued != kNoNumber) {
      knows_queued = true;
      sum.queued += std::max<std::int64_t>(0, reason->queued);
    }
    ++sum.count;
    sum.waited_ns += events.duration_ns(e);
    waited_ns += events.duration_ns(e);
    const auto at = idle.find(e);
    if (at != idle.end()) {
      sum.idle_ns += at->second;
      idle_ns += at->second;
    }
  }
  if (places.empty()) return std::nullopt;
  Finding finding{.key = "syncs", .title = "Sync points"};
  finding.facts = {
      {"syncs", "sync calls", calls, Unit::Count},
      {"copies", "blocking copies", copies, Unit::Count},
      {"waited_ns", "host wait", waited_ns, Unit::Nanoseconds},
      {"idle_ns", "device idle after", idle_ns, Unit::Nanoseconds},
      {"idle", "of device time", percent_of(idle_ns, examined.time.all().total()), Unit::Percent},
  };
  Table table{.key = "locations",
              .title = "by device idle time after them",
              .columns = {{"idle_ns", "device idle", Unit::Nanoseconds},
                          {"waited_ns", "host wait", Unit::Nanoseconds},
                          {"count", "times", Unit::Count},
                          {"call", "call"},
                          {"location", "in", Unit::None, true},
                          {"stack", ""}},
              .rows = {}};
  if (knows_queued) table.columns.push_back({"queued", "queued", Unit::Count});
  for (const auto& [place, sum] : by_largest(places, [](const SyncSum& s) {
         return std::pair<std::int64_t, std::int64_t>(s.idle_ns, s.waited_ns);
       })) {
    std::string where = place->chain;
    if (!place->stack.empty()) where += (where.empty() ? "" : " at ") + place->stack;
    table.rows.push_back({sum->idle_ns, sum->waited_ns, sum->count, place->call,
                          where.empty() ? Value() : Value(std::move(where)),
                          place->stack.empty() ? Value() : Value(place->stack)});
    if (knows_queued) table.rows.back().emplace_back(sum->queued);
  }
  finding.tables.push_back(std::move(table));
  return finding;
}

}  // namespace pel::doctor
