// Host time per launch, the ops that the device waits for, and the length of its queue.
#include <algorithm>

#include <fmt/format.h>

#include "base/readable.h"
#include "doctor/analyses/analysis.h"
#include "doctor/analyses/sums.h"
#include "doctor/model/saturating.h"

namespace pel::doctor {
namespace {

struct OpHost {
  std::int64_t calls = 0, launches = 0;
  SaturatingSum host_ns, idle_ns;
};

// Time that an op spends in waits is not dispatch time.
class WaitSums {
 public:
  explicit WaitSums(const Examined& examined) {
    const EventTable& events = examined.model.events();
    for (const RowId row : examined.time.launching_rows()) {
      for (const EventId e : examined.model.of_row(row)) {
        if (!examined.time.is_wait(e)) continue;
        const EventId op = examined.model.outermost_op_of(e);
        if (op != kNoEvent) sums_[op] += events.duration_ns(e);
      }
    }
  }
  std::int64_t in(EventId op) const {
    const auto at = sums_.find(op);
    return at == sums_.end() ? std::int64_t{0} : std::int64_t{at->second};
  }

 private:
  std::unordered_map<EventId, SaturatingSum> sums_;
};

struct Queue {
  double mean = 0, empty_share = 0;
  std::int64_t most = 0;
};

// When activities were launched and when they began.
struct QueueTimes {
  std::vector<std::int64_t> asked, begun;

  void add(const Model& model, const Activity& activity) {  // by begin
    if (activity.launch == kNoEvent) return;
    asked.push_back(std::min(model.events().begin_ns(activity.launch), activity.begin_ns));
    begun.push_back(activity.begin_ns);
  }
};

// The queue: launched and not yet begun.
Queue queue_of(QueueTimes times) {
  Queue queue;
  if (times.asked.empty()) return queue;
  std::sort(times.asked.begin(), times.asked.end());
  double weighted = 0, empty = 0;
  const std::int64_t first = times.asked.front();
  std::int64_t depth = 0, last = first;
  for (std::size_t asked = 0, begun = 0; begun < times.begun.size();) {
    const bool is_asked = asked < times.asked.size() && times.asked[asked] <= times.begun[begun];
    const std::int64_t time = is_asked ? times.asked[asked++] : times.begun[begun++];
    const auto passed = static_cast<double>(time - last);
    weighted += passed * static_cast<double>(depth);
    if (depth == 0) empty += passed;
    depth += is_asked ? 1 : -1;
    queue.most = std::max(queue.most, depth);
    last = time;
  }
  const auto span = static_cast<double>(last - first);
  if (span > 0) {
    queue.mean = weighted / span;
    queue.empty_share = 100 * empty / span;
  }
  return queue;
}

struct StreamSum {
  std::int64_t activities = 0, covered_ns = 0;
  SaturatingSum busy_ns, idle_ns, late_ns;
  QueueTimes times;
};

// A stream may idle while another one runs: these gaps are more than those of the device.
Table streams_table(const Model& model) {
  std::map<std::pair<std::int32_t, std::int32_t>, StreamSum> streams;
  for (const Activity& activity : model.activities()) {
    StreamSum& sum = streams[{activity.device, activity.stream}];
    if (sum.activities++ != 0 && activity.begin_ns > sum.covered_ns) {
      const std::int64_t gap = activity.begin_ns - sum.covered_ns;
      sum.idle_ns += gap;
      if (activity.launch != kNoEvent && model.events().begin_ns(activity.launch) > sum.covered_ns)
        sum.late_ns += gap;
    }
    const std::int64_t from =
        sum.activities == 1 ? activity.begin_ns : std::max(sum.covered_ns, activity.begin_ns);
    sum.busy_ns += std::max<std::int64_t>(0, activity.end_ns - from);
    sum.covered_ns = sum.activities == 1 ? activity.end_ns : std::max(sum.covered_ns, activity.end_ns);
    sum.times.add(model, activity);
  }
  Table table{.key = "streams",
              .title = "streams, by busy time",
              .columns = {{"device", "device", Unit::Count},
                          {"stream", "stream", Unit::Count},
                          {"activities", "activities", Unit::Count},
                          {"busy_ns", "busy", Unit::Nanoseconds},
                          {"idle_ns", "idle", Unit::Nanoseconds},
                          {"late_ns", "not yet launched", Unit::Nanoseconds},
                          {"queue_mean", "queue", Unit::Count},
                          {"queue_max", "max", Unit::Count}},
              .rows = {}};
  for (const auto& [key, sum] : by_largest(streams, [](const StreamSum& s) { return s.busy_ns; })) {
    const Queue queue = queue_of(sum->times);
    table.rows.push_back({std::int64_t{key->first}, std::int64_t{key->second}, sum->activities, sum->busy_ns,
                          sum->idle_ns, sum->late_ns, queue.mean, queue.most});
  }
  return table;
}

}  // namespace

std::optional<Finding> analyse_dispatch(const Examined& examined) {
  const Model& model = examined.model;
  const EventTable& events = model.events();
  std::map<std::string_view, OpHost> ops;
  const WaitSums waits(examined);
  std::int64_t launches = 0;
  SaturatingSum calls_ns;
  EventId last_op = kNoEvent;
  std::vector<bool> is_seen(events.size());  // launches and ops
  const auto is_new = [&](EventId e) {
    if (is_seen[e]) return false;
    is_seen[e] = true;
    return true;
  };
  std::vector<std::int64_t> delays;
  for (const Activity& activity : model.activities()) {
    if (activity.launch == kNoEvent) continue;
    delays.push_back(std::max<std::int64_t>(0, activity.begin_ns - events.end_ns(activity.launch)));
    if (!is_new(activity.launch)) continue;
    ++launches;
    calls_ns += events.duration_ns(activity.launch);
    const EventId op = model.outermost_op_of(activity.launch);
    if (op == kNoEvent) continue;
    OpHost& host = ops[events.name(op)];
    ++host.launches;
    if (op != last_op && is_new(op)) {
      ++host.calls;
      host.host_ns += std::max<std::int64_t>(0, saturating_sub(events.duration_ns(op), waits.in(op)));
    }
    last_op = op;
  }
  if (launches == 0) return std::nullopt;
  SaturatingSum idle_ns;
  for (const Gap& gap : examined.time.gaps()) {
    if (gap.cause != IdleCause::Dispatch) continue;
    idle_ns += gap.duration_ns();
    const EventId op = model.outermost_op_of(model.activities()[gap.next].launch);
    if (op != kNoEvent) ops[events.name(op)].idle_ns += gap.duration_ns();
  }
  std::sort(delays.begin(), delays.end());
  QueueTimes times;
  for (const Activity& activity : model.activities()) times.add(model, activity);
  const Queue queue = queue_of(std::move(times));

  Finding finding{.key = "dispatch", .title = "Dispatch"};
  finding.facts = {
      {"launches", "launches", launches, Unit::Count},
      {"call_ns", "launch call, mean", calls_ns / launches, Unit::Nanoseconds},
      {"delay_p50_ns", "launch delay, median", delays[delays.size() / 2], Unit::Nanoseconds},
      {"delay_p90_ns", "launch delay, 90th percentile", delays[delays.size() * 9 / 10], Unit::Nanoseconds},
      {"queue_mean", "queue length, mean", queue.mean, Unit::Count},
      {"queue_max", "queue length, max", queue.most, Unit::Count},
      {"queue_empty", "queue is empty", queue.empty_share, Unit::Percent},
      {"idle_ns", "device idle for dispatch", idle_ns, Unit::Nanoseconds},
  };
  Table table{.key = "ops",
              .title = "outermost ops, by device idle time",
              .columns = {{"op", "op", Unit::None, true},
                          {"idle_ns", "device idle", Unit::Nanoseconds},
                          {"calls", "calls", Unit::Count},
                          {"launches", "launches", Unit::Count},
                          {"host_ns", "host time", Unit::Nanoseconds},
                          {"host_per_launch_ns", "per launch", Unit::Nanoseconds}},
              .rows = {}};
  for (const auto& [op, host] : by_largest(ops, [](const OpHost& h) { return h.idle_ns; }))
    table.rows.push_back({std::string(*op), host->idle_ns, host->calls, host->launches, host->host_ns,
                          host->launches == 0 ? Value() : Value(host->host_ns / host->launches)});
  finding.tables.push_back(std::move(table));
  finding.tables.push_back(streams_table(model));
  return finding;
}

}  // namespace pel::doctor
