#include "doctor/model/device_time.h"

#include <algorithm>
#include <limits>

#include "base/median.h"

namespace pel::doctor {
namespace {

constexpr std::int64_t kLongestDependencyNs = 100'000;  // beyond, another stream's activity is not a reason
constexpr std::int64_t kAssumedLatencyNs = 10'000;      // where the trace has no sample

// What threads did of one kind, as intervals that do not overlap. Each keeps the longest that it was made of.
class IntervalSet {
 public:
  void add(const EventTable& events, EventId e) {
    spans_.push_back({events.begin_ns(e), events.end_ns(e), e});
  }
  void finish(const EventTable& events) {
    std::sort(spans_.begin(), spans_.end(),
              [](const Span& a, const Span& b) { return a.begin_ns < b.begin_ns; });
    std::size_t kept = 0;
    for (const Span& span : spans_) {
      if (kept != 0 && span.begin_ns <= spans_[kept - 1].end_ns) {
        Span& last = spans_[kept - 1];
        last.end_ns = std::max(last.end_ns, span.end_ns);
        if (events.duration_ns(span.event) > events.duration_ns(last.event)) last.event = span.event;
      } else {
        spans_[kept++] = span;
      }
    }
    spans_.resize(kept);
  }
  struct Overlap {
    std::int64_t ns = 0;
    EventId longest = kNoEvent;  // of those that overlap
    bool is_running_at_begin = false;
  };
  Overlap overlap(std::int64_t begin_ns, std::int64_t end_ns) const {
    Overlap overlap;
    std::int64_t most = 0;
    auto at = std::upper_bound(spans_.begin(), spans_.end(), begin_ns,
                               [](std::int64_t time, const Span& span) { return time < span.end_ns; });
    for (; at != spans_.end() && at->begin_ns < end_ns; ++at) {
      const std::int64_t ns = std::min(at->end_ns, end_ns) - std::max(at->begin_ns, begin_ns);
      overlap.ns += ns;
      overlap.is_running_at_begin |= at->begin_ns <= begin_ns;
      if (overlap.longest == kNoEvent || ns > most) {
        overlap.longest = at->event;
        most = ns;
      }
    }
    return overlap;
  }

 private:
  struct Span {
    std::int64_t begin_ns, end_ns;
    EventId event;
  };
  std::vector<Span> spans_;
};

enum class HostTask : std::uint8_t { Loading, Guards, Allocation, None };
HostTask host_task_of(const EventTable& events, EventId e) {
  const std::string_view name = events.name(e);
  if (events.is_call(e)) {
    const bool is_allocation = contains(name, "Malloc") || contains(name, "cudaFree") ||
                               contains(name, "hipFree") || contains(name, "cuMem") ||
                               contains(name, "hipMemUnmap");
    return is_allocation && !contains(name, "Async") ? HostTask::Allocation : HostTask::None;
  }
  if (events.is_loading(e)) return HostTask::Loading;
  if (contains(name, "TorchDynamo Cache Lookup") || contains(name, "_compile.compile_inner") ||
      contains(name, "Torch-Compiled Region Guards"))
    return HostTask::Guards;
  return HostTask::None;
}

}  // namespace

std::string_view name(IdleCause cause) {
  static constexpr std::array<std::string_view, kIdleCauseCount> kNames{
      "dispatch", "sync",    "input",      "guards",    "allocation",
      "profiler", "latency", "dependency", "no launch", "unexplained"};
  return kNames[static_cast<std::size_t>(cause)];
}

SaturatingSum TimeShares::idle() const {
  SaturatingSum sum;
  for (const std::int64_t ns : idle_ns) sum += ns;
  return sum;
}

void TimeShares::add(const TimeShares& other) {
  busy_ns += other.busy_ns;
  collective_ns += other.collective_ns;
  communication_ns += other.communication_ns;
  for (std::size_t i = 0; i < kIdleCauseCount; ++i) idle_ns[i] += other.idle_ns[i];
}

DeviceTime::DeviceTime(const Model& model, const KernelCatalog& kernels) : of_steps_(model.steps().size()) {
  find_gaps(model);
  find_causes(model);
  sum_up(model, kernels);
}

TimeShares& DeviceTime::shares_of(const Activity& activity) {
  return activity.step < of_steps_.size() ? of_steps_[activity.step] : outside_;
}

void DeviceTime::find_gaps(const Model& model) {
  const EventTable& events = model.events();
  for (std::size_t device = 0; device < model.active_devices().size(); ++device) {
    bool is_first = true;
    std::int64_t covered = 0;
    for (const std::uint32_t w : model.activities_of_device(device)) {
      const Activity& activity = model.activities()[w];
      if (!is_first && activity.begin_ns > covered)
        gaps_.push_back(
            {.begin_ns = covered, .end_ns = activity.begin_ns, .next = w, .cause = IdleCause::Unexplained});
      const std::int64_t from = is_first ? activity.begin_ns : std::max(covered, activity.begin_ns);
      shares_of(activity).busy_ns += std::max<std::int64_t>(0, activity.end_ns - from);
      covered = is_first ? activity.end_ns : std::max(covered, activity.end_ns);
      is_first = false;
    }
  }
  std::vector<bool> launches(events.rows.size());
  is_wait_.assign(events.size(), false);
  for (const Activity& activity : model.activities()) {
    if (activity.launch == kNoEvent) continue;
    launches[events.row(activity.launch)] = true;
    // A copy to the host that its call waited for.
    if (events.category(activity.event) == Category::Memcpy &&
        contains(events.name(activity.event), "DtoH") && events.end_ns(activity.launch) >= activity.end_ns &&
        events.duration_ns(activity.launch) > 0)
      is_wait_[activity.launch] = true;
  }
  for (RowId row = 0; row < launches.size(); ++row) {
    if (launches[row]) launching_rows_.push_back(row);
  }
  for (EventId e = 0; e < events.size(); ++e) {
    if (events.is_sync_call(e)) is_wait_[e] = true;
  }
}

void DeviceTime::find_causes(const Model& model) {
  const EventTable& events = model.events();
  IntervalSet waits, loading, guards, allocation, profiler;
  for (const RowId row : model.host_rows()) {
    const bool launches = std::binary_search(launching_rows_.begin(), launching_rows_.end(), row);
    for (const EventId e : model.of_row(row)) {
      if (events.category(e) == Category::Overhead) profiler.add(events, e);
      if (!launches) continue;
      if (is_wait(e)) waits.add(events, e);
      switch (host_task_of(events, e)) {
        case HostTask::Loading:
          loading.add(events, e);
          break;
        case HostTask::Guards:
          guards.add(events, e);
          break;
        case HostTask::Allocation:
          allocation.add(events, e);
          break;
        case HostTask::None:
          break;
      }
    }
  }
  for (IntervalSet* intervals : {&waits, &loading, &guards, &allocation, &profiler})
    intervals->finish(events);

  const auto is_late = [&](const Gap& gap) {
    const EventId launch = model.activities()[gap.next].launch;
    return launch != kNoEvent && events.begin_ns(launch) > gap.begin_ns;
  };
  std::vector<std::int64_t> latencies, usual;
  for (const Gap& gap : gaps_) {
    const EventId launch = model.activities()[gap.next].launch;
    if (launch == kNoEvent) continue;
    if (is_late(gap)) {
      latencies.push_back(std::max<std::int64_t>(0, gap.end_ns - events.end_ns(launch)));
    } else if (events.end_ns(launch) < gap.begin_ns) {
      usual.push_back(gap.duration_ns());
    }
  }
  launch_latency_ns_ = median_of(std::move(latencies));
  usual_gap_ns_ = median_of(std::move(usual));
  const std::int64_t latency = launch_latency_ns_ == 0 ? kAssumedLatencyNs : launch_latency_ns_;

  // By device, the activity that ended last before a gap.
  std::vector<std::uint32_t> last_of_gap(gaps_.size());
  {
    std::size_t g = 0;
    for (std::size_t device = 0; device < model.active_devices().size(); ++device) {
      std::uint32_t last = 0;
      bool has_last = false;
      for (const std::uint32_t w : model.activities_of_device(device)) {
        const Activity& activity = model.activities()[w];
        if (g < gaps_.size() && gaps_[g].next == w) last_of_gap[g++] = last;
        if (!has_last || activity.end_ns >= model.activities()[last].end_ns) last = w;
        has_last = true;
      }
    }
  }

  for (std::size_t g = 0; g < gaps_.size(); ++g) {
    Gap& gap = gaps_[g];
    const Activity& next = model.activities()[gap.next];
    if (next.launch == kNoEvent) {
      gap.cause = IdleCause::NoLaunch;
      continue;
    }
    if (!is_late(gap)) {
      if (gap.end_ns - events.end_ns(next.launch) <= 2 * latency) {
        gap.cause = IdleCause::Dispatch;
        gap.blame = model.op_of_launch(next.launch);
      } else if (gap.duration_ns() <= 2 * usual_gap_ns_) {
        gap.cause = IdleCause::Latency;
      } else if (model.activities()[last_of_gap[g]].stream != next.stream &&
                 gap.duration_ns() <= kLongestDependencyNs) {
        gap.cause = IdleCause::Dependency;
      }
      continue;
    }
    const std::int64_t from = gap.begin_ns, to = events.begin_ns(next.launch);
    const auto max_of = [&](const IntervalSet::Overlap& overlap) {
      return overlap.ns > to - from - overlap.ns;
    };
    const auto is = [&](const IntervalSet& intervals, IdleCause cause, bool also_at_begin) {
      const IntervalSet::Overlap overlap = intervals.overlap(from, to);
      if (!max_of(overlap) && !(also_at_begin && overlap.is_running_at_begin)) return false;
      gap.cause = cause;
      gap.blame = overlap.longest;
      return true;
    };
    if (is(profiler, IdleCause::Profiler, false)) continue;
    if (is(loading, IdleCause::Input, false)) continue;
    if (is(waits, IdleCause::Sync, true)) continue;
    if (is(guards, IdleCause::Guards, false)) continue;
    if (is(allocation, IdleCause::Allocation, false)) continue;
    gap.cause = IdleCause::Dispatch;
    gap.blame = model.op_of_launch(next.launch);
  }
}

std::vector<ExposedCollective> exposed_collectives(const Model& model, const KernelCatalog& kernels) {
  std::vector<ExposedCollective> exposed;
  for (std::size_t device = 0; device < model.active_devices().size(); ++device) {
    // Where other activities than collectives ran.
    std::vector<std::pair<std::int64_t, std::int64_t>> others;
    for (const std::uint32_t w : model.activities_of_device(device)) {
      const Activity& activity = model.activities()[w];
      if (kernels.is_collective(activity.event)) continue;
      if (!others.empty() && activity.begin_ns <= others.back().second) {
        others.back().second = std::max(others.back().second, activity.end_ns);
      } else {
        others.emplace_back(activity.begin_ns, activity.end_ns);
      }
    }
    std::int64_t covered = std::numeric_limits<std::int64_t>::min();
    for (const std::uint32_t w : model.activities_of_device(device)) {
      const Activity& activity = model.activities()[w];
      if (!kernels.is_collective(activity.event)) continue;
      const std::int64_t begin = std::max(covered, activity.begin_ns);
      const std::int64_t own = std::max<std::int64_t>(0, activity.end_ns - begin);
      std::int64_t alone = own;
      auto at = std::upper_bound(others.begin(), others.end(), begin,
                                 [](std::int64_t time, const auto& span) { return time < span.second; });
      for (; at != others.end() && at->first < activity.end_ns; ++at)
        alone -=
            std::max<std::int64_t>(0, std::min(at->second, activity.end_ns) - std::max(at->first, begin));
      exposed.push_back({w, std::max<std::int64_t>(0, alone), own});
      covered = std::max(covered, activity.end_ns);
    }
  }
  return exposed;
}

void DeviceTime::sum_up(const Model& model, const KernelCatalog& kernels) {
  for (const Gap& gap : gaps_)
    shares_of(model.activities()[gap.next]).idle_ns[static_cast<std::size_t>(gap.cause)] += gap.duration_ns();
  for (const ExposedCollective& collective : exposed_collectives(model, kernels)) {
    TimeShares& shares = shares_of(model.activities()[collective.activity]);
    shares.communication_ns += collective.exposed_ns;
    shares.collective_ns += collective.own_ns;
  }
  all_ = outside_;
  for (const TimeShares& step : of_steps_) all_.add(step);
}

}  // namespace pel::doctor
