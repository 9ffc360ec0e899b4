#include "doctor/replay/replay_graph.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "base/median.h"
#include "base/sort_stably.h"

namespace pel::doctor {
namespace {

constexpr std::int64_t kUnexplainedNs = 20'000;  // below, it is the spread of a floor
constexpr std::int64_t kNearNs = 30'000;    // activity that ended so long before may be what was waited for
constexpr std::int64_t kEbbNs = 100'000;    // an activity that ends so soon has multiprocessors to spare
constexpr std::int64_t kResumeNs = 30'000;  // a thread that paused so long may have waited for another
constexpr std::int64_t kQueuePlaces = 900;  // of about 1,024: a launch that finds so many may have to wait
constexpr std::int64_t kLongestLaunchNs = 100'000;  // beyond, it is not a floor
constexpr std::int64_t kAssumedLaunchNs = 5'000;    // where the trace has no sample
// A file may hold anything: no more than so many are looked at.
constexpr std::size_t kMaxOpen = 64, kMaxThreads = 64, kMaxStreams = 64;
constexpr int kMaxCandidates = 256, kMaxAround = 1000;
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::min();

struct Spread {
  std::int64_t mean = 0, width = 0;
};
// Of the samples near their median, so that sums come out right; and between which half of them lie.
Spread spread_of(std::vector<std::int64_t>& samples) {
  if (samples.empty()) return {};
  std::sort(samples.begin(), samples.end());
  const std::int64_t median = samples[samples.size() / 2];
  SaturatingSum sum;
  std::int64_t count = 0;
  for (const std::int64_t sample : samples) {
    if (sample > median + kUnexplainedNs || sample < median - kUnexplainedNs) continue;
    sum += sample;
    ++count;
  }
  return {count == 0 ? median : sum / count,
          saturating_sub(samples[samples.size() * 3 / 4], samples[samples.size() / 4])};
}

}  // namespace

std::string_view name(EdgeKind kind) {
  static constexpr std::array<std::string_view, kEdgeKindCount> kNames{
      "call",        "thread", "hand-over", "launch",     "activity", "stream",
      "stream wait", "graph",  "sync",      "full queue", "inferred"};
  return kNames[static_cast<std::size_t>(kind)];
}

struct ReplayGraph::Building {
  ReplayGraph& graph;
  const Model& model;
  const DeviceTime& time;
  const EventTable& events = model.events();
  std::span<const Activity> activities = model.activities();

  struct Placed {
    PointId to;
    Edge edge;
  };
  std::vector<Placed> placed{};
  static constexpr std::uint32_t kNoCall = ~std::uint32_t{0};
  std::vector<std::uint32_t> call_index{};              // of each event: its place in graph.calls_
  std::vector<std::vector<std::uint32_t>> row_calls{};  // by launching row, in order
  std::map<std::pair<std::int32_t, std::int32_t>, std::vector<std::uint32_t>>
      streams{};                                // activities by begin
  std::vector<std::int64_t> finished_before{};  // of each activity: the activity of its stream that ended
                                                // last before it began, or -1
  std::vector<std::int64_t> previous{};         // of each activity: the one before it on its stream, or -1

  bool is_graph(EventId launch) const { return launch != kNoEvent && events.is_graph_launch(launch); }
  void add(PointId from, PointId to, EdgeKind kind, std::int64_t delay, std::int64_t loading = 0) {
    placed.push_back({to, {from, kind, false, delay, loading}});
  }
  std::int64_t at(PointId p) const { return graph.measured_[p]; }

  void collect() {
    row_calls.resize(time.launching_rows().size());
    call_index.assign(events.size(), kNoCall);
    for (std::size_t r = 0; r < row_calls.size(); ++r) {
      std::int64_t until = kNever;
      for (const EventId e : model.of_row(time.launching_rows()[r])) {
        if (!events.is_call(e) || events.begin_ns(e) < until) continue;  // inside another call
        until = events.end_ns(e);
        const auto index = static_cast<std::uint32_t>(graph.calls_.size());
        row_calls[r].push_back(index);
        call_index[e] = index;
        graph.calls_.push_back(e);
      }
    }
    graph.measured_.resize(2 * (graph.calls_.size() + activities.size()));
    placed.reserve(2 * graph.calls_.size() + 4 * activities.size());  // about
    for (std::size_t i = 0; i < graph.calls_.size(); ++i) {
      graph.measured_[graph.call_begin(i)] = events.begin_ns(graph.calls_[i]);
      graph.measured_[graph.call_end(i)] = events.end_ns(graph.calls_[i]);
    }
    for (std::uint32_t w = 0; w < activities.size(); ++w) {
      graph.measured_[graph.activity_begin(w)] = activities[w].begin_ns;
      graph.measured_[graph.activity_end(w)] = activities[w].end_ns;
      streams[{activities[w].device, activities[w].stream}].push_back(w);
    }
    if (!graph.measured_.empty())
      graph.first_ns_ = *std::min_element(graph.measured_.begin(), graph.measured_.end());
    finished_before.assign(activities.size(), -1);
    previous.assign(activities.size(), -1);
    for (const auto& [stream, list] : streams) {
      // Activities of a stream that overlap are few; those that may still end after the next begin are kept.
      std::vector<std::uint32_t> open;
      std::int64_t last = -1;
      for (const std::uint32_t w : list) {
        std::erase_if(open, [&](std::uint32_t o) {
          if (activities[o].end_ns > activities[w].begin_ns) return false;
          if (last < 0 || activities[o].end_ns >= activities[static_cast<std::size_t>(last)].end_ns) last = o;
          return true;
        });
        finished_before[w] = last;
        if (!open.empty()) {
          previous[w] = open.back();
        } else {
          previous[w] = last;
        }
        if (open.size() == kMaxOpen) open.erase(open.begin());
        open.push_back(w);
      }
    }
  }

  // The outermost call around a launch, which may be made by another call.
  std::int64_t call_of(EventId launch) const {
    for (EventId e = launch; e != kNoEvent; e = model.parent(e)) {
      if (call_index[e] != kNoCall) return call_index[e];
      if (!events.is_call(e)) break;
    }
    return -1;
  }

  void measure_floors() {
    Floors& floors = graph.floors_;
    std::vector<std::int64_t> from_begin, from_end, gaps[2][2], graph_gaps, wakes, idle_syncs;
    for (std::uint32_t w = 0; w < activities.size(); ++w) {
      const Activity& activity = activities[w];
      const std::int64_t before = finished_before[w];
      const std::int64_t free_ns = before < 0 ? kNever : activities[static_cast<std::size_t>(before)].end_ns;
      if (activity.launch != kNoEvent && !is_graph(activity.launch) &&
          free_ns <= events.begin_ns(activity.launch) && (!is_blocking(w) || model.is_synchronous()) &&
          activity.begin_ns - events.begin_ns(activity.launch) <= kLongestLaunchNs) {
        from_begin.push_back(activity.begin_ns - events.begin_ns(activity.launch));
        from_end.push_back(activity.begin_ns - events.end_ns(activity.launch));
      }
      if (before < 0 || previous[w] != before) continue;
      const std::int64_t gap = activity.begin_ns - free_ns;
      if (gap > kUnexplainedNs) continue;
      if (is_graph(activity.launch) &&
          activities[static_cast<std::size_t>(before)].launch == activity.launch) {
        graph_gaps.push_back(gap);
      } else if (activity.launch == kNoEvent || events.end_ns(activity.launch) + kUnexplainedNs < free_ns) {
        gaps[is_kernel(static_cast<std::size_t>(before))][is_kernel(w)].push_back(gap);
      }
    }
    const Spread begin = spread_of(from_begin), end = spread_of(from_end);
    floors.from_call_begin = begin.width < end.width || model.is_synchronous();
    floors.launch_ns = from_begin.empty() ? kAssumedLaunchNs : floors.from_call_begin ? begin.mean : end.mean;
    for (std::size_t first = 0; first < 2; ++first) {
      for (std::size_t second = 0; second < 2; ++second)
        floors.stream_ns[first][second] = spread_of(gaps[first][second]).mean;
    }
    floors.graph_ns = spread_of(graph_gaps).mean;
    for (const EventId call : graph.calls_) {
      if (!time.is_wait(call)) continue;
      const std::int64_t awaited = awaited_by(call);
      if (awaited < 0) {
        idle_syncs.push_back(events.duration_ns(call));
      } else {
        wakes.push_back(events.end_ns(call) - activities[static_cast<std::size_t>(awaited)].end_ns);
      }
    }
    floors.wake_ns = spread_of(wakes).mean;
    floors.sync_ns = spread_of(idle_syncs).mean;
  }

  bool is_kernel(std::size_t w) const { return events.category(activities[w].event) == Category::Kernel; }
  std::int64_t stream_floor(std::size_t from, std::size_t to) const {
    return graph.floors_.stream_ns[is_kernel(from)][is_kernel(to)];
  }

  // A copy whose call returned when it was done; of a CPU, all activities.
  bool is_blocking(std::uint32_t w) const {
    const Activity& activity = activities[w];
    return activity.launch != kNoEvent &&
           (events.category(activity.event) == Category::Memcpy || model.is_synchronous()) &&
           events.end_ns(activity.launch) >= activity.end_ns;
  }

  // The activity that a call waited for: the last to end within the call, launched before; or -1.
  std::int64_t awaited_by(EventId call) const {
    const std::int64_t begin = events.begin_ns(call), end = events.end_ns(call);
    const auto own = model.launched_by(call);
    if (!own.empty()) return is_blocking(own.back()) ? std::int64_t{own.back()} : -1;
    std::int64_t found = -1;
    // By begin; activities that ended within the call began before its end.
    auto past =
        std::upper_bound(activities.begin(), activities.end(), end,
                         [](std::int64_t t, const Activity& activity) { return t < activity.begin_ns; });
    int looked = 0;
    while (past != activities.begin() && looked < kMaxCandidates) {
      --past;
      ++looked;
      if (past->end_ns > end || past->end_ns <= begin) continue;
      if (past->launch != kNoEvent && events.begin_ns(past->launch) > begin) continue;
      if (found < 0 || past->end_ns > activities[static_cast<std::size_t>(found)].end_ns)
        found = past - activities.begin();
    }
    return found;
  }

  // How much of an interval a thread spent in ops, and in loading data.
  struct Spent {
    std::int64_t in_ops = 0, loading = 0;
  };
  Spent spent(RowId row, std::int64_t from, std::int64_t to) const {
    const std::span<const EventId> all = model.of_row(row);
    auto e = std::lower_bound(all.begin(), all.end(), from,
                              [&](EventId a, std::int64_t t) { return events.begin_ns(a) < t; });
    Spent spent;
    // What was already running.
    std::int64_t ops_until = from, loading_until = from;
    const auto take = [&](EventId a) {
      const std::int64_t end = std::min(to, events.end_ns(a));
      const auto extend = [&](std::int64_t& sum, std::int64_t& until) {
        const std::int64_t begin = std::max(until, events.begin_ns(a));
        if (end > begin) sum += end - begin;
        until = std::max(until, end);
      };
      if (events.category(a) == Category::CpuOp) extend(spent.in_ops, ops_until);
      if (events.is_loading(a)) extend(spent.loading, loading_until);
    };
    EventId around = model.running_at(row, from);
    for (int level = 0; around != kNoEvent && level < kMaxAround; ++level, around = model.parent(around))
      take(around);
    for (; e != all.end() && events.begin_ns(*e) < to; ++e) take(*e);
    return spent;
  }

  void link_threads() {
    for (std::size_t r = 0; r < row_calls.size(); ++r) {
      const RowId row = time.launching_rows()[r];
      for (std::size_t i = 0; i < row_calls[r].size(); ++i) {
        const std::uint32_t call = row_calls[r][i];
        const PointId begin = graph.call_begin(call);
        const std::int64_t last = i == 0 ? kNever : at(graph.call_end(row_calls[r][i - 1]));
        std::int64_t giver = -1;  // the call of another thread that ended last in the pause
        if (i == 0 || at(begin) - last > kResumeNs) {
          for (std::size_t other = 0; other < std::min(kMaxThreads, row_calls.size()); ++other) {
            if (other == r) continue;
            const auto& list = row_calls[other];
            const auto past =
                std::upper_bound(list.begin(), list.end(), at(begin),
                                 [&](std::int64_t t, std::uint32_t c) { return t < at(graph.call_end(c)); });
            if (past == list.begin()) continue;
            const std::uint32_t candidate = *std::prev(past);
            const std::int64_t ended = at(graph.call_end(candidate));
            if (ended > last && (giver < 0 || ended > at(graph.call_end(static_cast<std::size_t>(giver)))))
              giver = candidate;
          }
        }
        const std::int64_t pause = i == 0 ? 0 : at(begin) - last;
        const Spent used = i != 0 && pause > kResumeNs ? spent(row, last, at(begin)) : Spent{};
        if (giver >= 0 && (i == 0 || used.in_ops < pause - used.in_ops)) {
          const PointId from = graph.call_end(static_cast<std::size_t>(giver));
          add(from, begin, EdgeKind::HandOver, at(begin) - at(from));
          if (i != 0) add(graph.call_end(row_calls[r][i - 1]), begin, EdgeKind::Thread, 0);
        } else if (i != 0) {
          add(graph.call_end(row_calls[r][i - 1]), begin, EdgeKind::Thread, pause, used.loading);
        }
      }
    }
  }

  void link_calls() {
    std::vector<std::int64_t> launch_durations;
    for (std::size_t i = 0; i < graph.calls_.size(); ++i) {
      const auto own = model.launched_by(graph.calls_[i]);
      if (own.empty()) continue;
      const Activity& activity = activities[own.back()];
      launch_durations.push_back(events.duration_ns(graph.calls_[i]) -
                                 (model.is_synchronous() ? activity.end_ns - activity.begin_ns : 0));
    }
    const std::int64_t usual_launch = median_of(std::move(launch_durations));
    std::vector<std::int64_t> asked;  // when activities were launched, to know how many are in the queue
    asked.reserve(activities.size());
    for (const Activity& activity : activities) {
      if (activity.launch != kNoEvent) asked.push_back(events.begin_ns(activity.launch));
    }
    std::sort(asked.begin(), asked.end());
    const auto queued_at = [&](std::int64_t t) {
      const auto launched = std::lower_bound(asked.begin(), asked.end(), t) - asked.begin();
      const auto begun =
          std::upper_bound(activities.begin(), activities.end(), t,
                           [](std::int64_t x, const Activity& activity) { return x < activity.begin_ns; }) -
          activities.begin();
      return launched - begun + static_cast<std::int64_t>(model.activities_without_launch());
    };
    for (std::size_t i = 0; i < graph.calls_.size(); ++i) {
      const EventId call = graph.calls_[i];
      const std::int64_t duration = events.duration_ns(call);
      const PointId begin = graph.call_begin(i), end = graph.call_end(i);
      const auto own = model.launched_by(call);
      const bool blocks = !own.empty() && is_blocking(own.back());
      const std::int64_t awaited = time.is_wait(call) || blocks ? awaited_by(call) : -1;
      if (awaited >= 0) {
        const std::int64_t cost = own.empty() ? graph.floors_.sync_ns : usual_launch;
        add(begin, end, EdgeKind::Call, std::min(duration, cost));
        add(graph.activity_end(static_cast<std::size_t>(awaited)), end, EdgeKind::Sync,
            std::min(graph.floors_.wake_ns,
                     at(end) - at(graph.activity_end(static_cast<std::size_t>(awaited)))));
        continue;
      }
      if (!own.empty() && duration > kUnexplainedNs && queued_at(at(begin)) >= kQueuePlaces) {
        const auto past =
            std::upper_bound(activities.begin(), activities.end(), at(end),
                             [](std::int64_t t, const Activity& activity) { return t < activity.begin_ns; });
        if (past != activities.begin() && std::prev(past)->begin_ns > at(begin)) {
          const auto w = static_cast<std::size_t>(past - activities.begin()) - 1;
          add(begin, end, EdgeKind::Call, usual_launch);
          add(graph.activity_begin(w), end, EdgeKind::FullQueue,
              std::min(usual_launch, at(end) - activities[w].begin_ns));
          continue;
        }
      }
      add(begin, end, EdgeKind::Call, duration);
    }
  }

  void link_activities() {
    const Floors& floors = graph.floors_;
    for (std::uint32_t w = 0; w < activities.size(); ++w) {
      const Activity& activity = activities[w];
      const PointId begin = graph.activity_begin(w);
      add(begin, graph.activity_end(w), EdgeKind::Activity, activity.end_ns - activity.begin_ns);
      const std::int64_t before = finished_before[w];
      if (before >= 0) {
        const bool in_graph = is_graph(activity.launch) &&
                              activities[static_cast<std::size_t>(before)].launch == activity.launch;
        add(graph.activity_end(static_cast<std::size_t>(before)), begin, EdgeKind::Stream,
            in_graph ? floors.graph_ns : stream_floor(static_cast<std::size_t>(before), w));
      }
      if (previous[w] >= 0 && previous[w] != before)  // they overlap: not before it began
        add(graph.activity_begin(static_cast<std::size_t>(previous[w])), begin, EdgeKind::Stream, 0);
      const std::int64_t call = call_of(activity.launch);
      if (call < 0) continue;
      const bool from_begin = floors.from_call_begin || is_blocking(w);
      const PointId from = from_begin ? graph.call_begin(static_cast<std::size_t>(call))
                                      : graph.call_end(static_cast<std::size_t>(call));
      // What the first activity of a stream waited for is before the trace.
      if (before < 0 && at(begin) - at(from) > floors.launch_ns + kUnexplainedNs) continue;
      std::int64_t floor = floors.launch_ns;
      // A device clock that lags the host clock is not corrected here.
      if (at(begin) - at(from) < floor - kUnexplainedNs) floor = at(begin) - at(from);
      add(from, begin, EdgeKind::Launch, floor);
    }
  }

  // By the time of their launch, the activities of each stream; and of each row, its launches in order.
  void link_streams() {
    std::map<std::pair<std::int32_t, std::int32_t>, std::vector<std::uint32_t>> by_launch;
    for (const auto& [stream, list] : streams) {
      auto& sorted = by_launch[stream];
      sorted = list;
      sort_stably(sorted, [&](std::uint32_t a, std::uint32_t b) { return launched_ns(a) < launched_ns(b); });
    }
    // The last activity of a stream that was launched before `t`, and had ended by `by`; or -1.
    const auto last_launched = [&](const std::vector<std::uint32_t>& list, std::int64_t t,
                                   std::int64_t by) -> std::int64_t {
      auto past = std::lower_bound(list.begin(), list.end(), t,
                                   [&](std::uint32_t w, std::int64_t x) { return launched_ns(w) < x; });
      for (int looked = 0; past != list.begin() && looked < kMaxCandidates; ++looked) {
        --past;
        if (activities[*past].end_ns <= by) return *past;
      }
      return -1;
    };
    for (const auto& list : row_calls) {
      std::int64_t waits_since = kNever;  // the last wait between streams that no launch followed yet
      std::int64_t current_stream_activity =
          -1;                       // the last activity that this thread launched, outside of graphs
      std::int64_t graph_end = -1;  // the last activity of a graph that nothing followed yet
      for (const std::uint32_t call : list) {
        const EventId e = graph.calls_[call];
        if (contains(events.name(e), "StreamWaitEvent")) {
          waits_since = events.begin_ns(e);
          continue;
        }
        const auto own = model.launched_by(e);
        if (own.empty()) continue;
        const bool is_of_graph = is_graph(e);
        const Activity& first = activities[own.front()];
        if (waits_since != kNever) {
          std::size_t looked = 0;
          for (const auto& [stream, others] : by_launch) {
            if (++looked > kMaxStreams) break;
            if (stream.first != first.device || stream.second == first.stream) continue;
            const std::int64_t awaited = last_launched(others, waits_since, first.begin_ns);
            if (awaited >= 0)
              add(graph.activity_end(static_cast<std::size_t>(awaited)), graph.activity_begin(own.front()),
                  EdgeKind::StreamWait, stream_floor(static_cast<std::size_t>(awaited), own.front()));
          }
          waits_since = kNever;
        }
        if (is_of_graph) {
          if (current_stream_activity >= 0 &&
              activities[static_cast<std::size_t>(current_stream_activity)].end_ns <= first.begin_ns) {
            for (const std::uint32_t w : own)
              if (finished_before[w] < 0 ||
                  activities[static_cast<std::size_t>(finished_before[w])].launch != e)
                add(graph.activity_end(static_cast<std::size_t>(current_stream_activity)),
                    graph.activity_begin(w), EdgeKind::Graph,
                    stream_floor(static_cast<std::size_t>(current_stream_activity), w));
          }
          graph_end = own.front();
          for (const std::uint32_t w : own) {
            if (activities[w].end_ns > activities[static_cast<std::size_t>(graph_end)].end_ns) graph_end = w;
          }
          continue;
        }
        if (graph_end >= 0 && activities[static_cast<std::size_t>(graph_end)].end_ns <= first.begin_ns) {
          add(graph.activity_end(static_cast<std::size_t>(graph_end)), graph.activity_begin(own.front()),
              EdgeKind::Graph, stream_floor(static_cast<std::size_t>(graph_end), own.front()));
          graph_end = -1;
        }
        current_stream_activity = own.back();
      }
    }
  }
  std::int64_t launched_ns(std::uint32_t w) const {
    return activities[w].launch == kNoEvent ? kNever : events.begin_ns(activities[w].launch);
  }

  // Where activities began later than their edges say, by more than a floor's spread.
  void infer() {
    std::vector<std::int64_t> expected(activities.size(), kNever);
    for (const Placed& p : placed) {
      if (!graph.is_of_activity(p.to) || p.to % 2 != 0) continue;
      std::int64_t& e = expected[graph.activity_of(p.to)];
      e = std::max(e, saturating_add(at(p.edge.from), p.edge.delay_ns));
    }
    std::vector<std::int64_t> idle_before(activities.size(), 0);
    for (const Gap& gap : time.gaps()) idle_before[gap.next] = gap.duration_ns();
    std::vector<std::uint32_t> by_end(activities.size());
    std::iota(by_end.begin(), by_end.end(), 0);
    std::sort(by_end.begin(), by_end.end(),
              [&](std::uint32_t a, std::uint32_t b) { return activities[a].end_ns < activities[b].end_ns; });
    for (std::uint32_t w = 0; w < activities.size(); ++w) {
      if (expected[w] == kNever) graph.unexplained_ns_ += idle_before[w];  // begins as it did
      if (expected[w] == kNever || saturating_sub(activities[w].begin_ns, expected[w]) <= kUnexplainedNs)
        continue;
      auto past = std::upper_bound(by_end.begin(), by_end.end(), activities[w].begin_ns,
                                   [&](std::int64_t t, std::uint32_t x) { return t < activities[x].end_ns; });
      bool is_found = false;
      const std::int64_t idle = std::min(idle_before[w], saturating_sub(activities[w].begin_ns, expected[w]));
      int looked = 0;
      for (auto candidate = past; candidate != by_end.begin() && !is_found && looked < kMaxCandidates;
           ++looked) {
        --candidate;
        const Activity& other = activities[*candidate];
        if (activities[w].begin_ns - other.end_ns > kNearNs) break;
        if (other.stream == activities[w].stream || other.device != activities[w].device || *candidate == w)
          continue;
        add(graph.activity_end(*candidate), graph.activity_begin(w), EdgeKind::Inferred,
            stream_floor(*candidate, w));
        is_found = true;
      }
      for (auto candidate = past; candidate != by_end.end() && !is_found && looked < 2 * kMaxCandidates;
           ++candidate, ++looked) {
        const Activity& other = activities[*candidate];
        if (other.end_ns - activities[w].begin_ns > kEbbNs) break;
        if (other.begin_ns >= expected[w] || other.stream == activities[w].stream ||
            other.device != activities[w].device)
          continue;
        add(graph.activity_end(*candidate), graph.activity_begin(w), EdgeKind::Inferred,
            activities[w].begin_ns - other.end_ns);
        is_found = true;
      }
      (is_found ? graph.inferred_ns_ : graph.unexplained_ns_) += idle;
    }
  }

  void finish() {
    const std::vector<PointId> stuck = order_points();
    graph.incoming_.resize(graph.measured_.size());
    for (const Placed& p : placed) {
      ++graph.incoming_[p.to].count;
      ++graph.counts_[static_cast<std::size_t>(p.edge.kind)];
    }
    std::vector<std::uint32_t> next(graph.measured_.size());
    std::uint32_t used = 0;
    for (const auto* points : {&std::as_const(graph.order_), &stuck}) {
      for (const PointId p : *points) {
        graph.incoming_[p].first = next[p] = used;
        used += graph.incoming_[p].count;
      }
    }
    graph.edges_.resize(placed.size());
    for (const Placed& p : placed) graph.edges_[next[p.to]++] = p.edge;
    for (const Incoming& edges : graph.incoming_) {
      if (edges.count != 0) graph.edges_[edges.first + edges.count - 1].is_last = true;
    }
  }

  // Takes points that nothing is left to be done before, again and again. Returns those that wait for each
  // other.
  std::vector<PointId> order_points() {
    const std::size_t points = graph.measured_.size();
    std::vector<std::uint32_t> outgoing(points + 1, 0), left(points);
    for (const Placed& p : placed) ++outgoing[p.edge.from + 1];
    std::partial_sum(outgoing.begin(), outgoing.end(), outgoing.begin());
    std::vector<PointId> targets(placed.size());
    std::vector<std::uint32_t> place(outgoing.begin(), outgoing.end() - 1);
    for (const Placed& p : placed) {
      targets[place[p.edge.from]++] = p.to;
      ++left[p.to];
    }
    graph.order_.reserve(points);
    for (PointId p = 0; p < points; ++p) {
      if (left[p] == 0) graph.order_.push_back(p);
    }
    graph.roots_ = graph.order_.size();
    for (std::size_t i = 0; i < graph.order_.size(); ++i) {
      const PointId p = graph.order_[i];
      for (std::uint32_t t = outgoing[p]; t < outgoing[p + 1]; ++t) {
        if (--left[targets[t]] == 0) graph.order_.push_back(targets[t]);
      }
    }
    std::vector<PointId> stuck;
    for (PointId p = 0; p < points; ++p) {
      if (left[p] != 0) stuck.push_back(p);
    }
    return stuck;
  }
};

ReplayGraph::ReplayGraph(const Model& model, const DeviceTime& time) : model_(model) {
  Building building{*this, model, time};
  building.collect();
  building.measure_floors();
  building.link_threads();
  building.link_calls();
  building.link_activities();
  building.link_streams();
  building.infer();
  building.finish();
}

}  // namespace pel::doctor
