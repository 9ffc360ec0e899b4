// Where the host waited for the device: which op, which line, what it cost.
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
  SaturatingSum waited_ns, idle_ns;
};
struct SyncPlace {
  std::string_view call;
  std::string chain, stack;
  auto operator<=>(const SyncPlace&) const = default;
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
  std::unordered_map<EventId, SaturatingSum> idle;  // that a wait left behind
  for (const Gap& gap : examined.time.gaps()) {
    if (gap.cause == IdleCause::Sync && gap.blame != kNoEvent) idle[gap.blame] += gap.duration_ns();
  }
  std::map<SyncPlace, SyncSum> places;
  std::int64_t calls = 0, copies = 0;
  SaturatingSum waited_ns, idle_ns;
  for (EventId e = 0; e < events.size(); ++e) {
    if (!events.is_call(e) || !examined.time.is_wait(e)) continue;
    const bool is_copy = !events.is_sync_call(e);
    (is_copy ? copies : calls) += 1;
    const SyncPlace place{events.name(e), model.op_chain(e), joined_stack(model.stack_of(e, kFrames))};
    SyncSum& sum = places[place];
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
      {"syncs", "calls that wait", calls, Unit::Count},
      {"copies", "copies that are waited for", copies, Unit::Count},
      {"waited_ns", "the host waited", waited_ns, Unit::Nanoseconds},
      {"idle_ns", "the device then idled", idle_ns, Unit::Nanoseconds},
      {"idle", "of its time", percent_of(idle_ns, examined.time.all().total()), Unit::Percent},
  };
  Table table{.key = "places",
              .title = "by how long the device idled after them",
              .columns = {{"idle_ns", "device idled", Unit::Nanoseconds},
                          {"waited_ns", "host waited", Unit::Nanoseconds},
                          {"count", "times", Unit::Count},
                          {"call", "call"},
                          {"place", "in", Unit::None, true},
                          {"stack", ""}},
              .rows = {}};
  for (const auto& [place, sum] : by_largest(places, [](const SyncSum& s) {
         return std::pair<std::int64_t, std::int64_t>(s.idle_ns, s.waited_ns);
       })) {
    std::string where = place->chain;
    if (!place->stack.empty()) where += (where.empty() ? "" : " at ") + place->stack;
    table.rows.push_back({sum->idle_ns, sum->waited_ns, sum->count, std::string(place->call),
                          where.empty() ? Value() : Value(std::move(where)),
                          place->stack.empty() ? Value() : Value(place->stack)});
  }
  finding.tables.push_back(std::move(table));
  return finding;
}

}  // namespace pel::doctor
