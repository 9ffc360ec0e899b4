#include "doctor/replay/replay.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace pel::doctor {
namespace {

constexpr std::int64_t kNotYet = std::numeric_limits<std::int64_t>::min();

std::int64_t scaled(std::int64_t ns, double factor) {
  return factor == 1 ? ns : saturating_cast(std::round(static_cast<double>(ns) * factor));
}

void sum_up(const ReplayGraph& graph, Replayed& run) {
  const Model& model = graph.model();
  std::int64_t first = std::numeric_limits<std::int64_t>::max(), last = kNotYet;
  std::vector<std::int64_t> ends(model.steps().size(), kNotYet);
  for (std::size_t w = 0; w < model.activities().size(); ++w) {
    first = std::min(first, run.times[graph.activity_begin(w)]);
    const std::int64_t end = run.times[graph.activity_end(w)];
    last = std::max(last, end);
    const std::uint32_t step = model.activities()[w].step;
    if (step < ends.size()) ends[step] = std::max(ends[step], end);
  }
  run.span_ns = model.activities().empty() ? 0 : saturating_sub(last, first);
  for (const std::int64_t end : ends) {
    if (end != kNotYet) run.step_ends_ns.push_back(end);
  }
}

template <class T, class Combine>
void combine_into(std::vector<T>& a, const std::vector<T>& b, Combine combine) {
  if (b.empty()) return;
  if (a.empty()) {
    a = b;
    return;
  }
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = combine(a[i], b[i]);
}

}  // namespace

Change combined(Change a, const Change& b) {
  a.dispatch *= b.dispatch;
  a.loading *= b.loading;
  a.without_syncs |= b.without_syncs;
  for (std::size_t i = 0; i < a.without.size(); ++i) a.without[i] |= b.without[i];
  combine_into(a.activity_scale, b.activity_scale, std::multiplies<float>());
  combine_into(a.without_activity, b.without_activity, std::logical_or<bool>());
  combine_into(a.call_scale, b.call_scale, std::multiplies<float>());
  // The same time cannot be cut twice.
  combine_into(a.host_cut_ns, b.host_cut_ns, [](std::int64_t x, std::int64_t y) { return std::max(x, y); });
  combine_into(a.without_sync, b.without_sync, std::logical_or<bool>());
  return a;
}

Replayed replay(const ReplayGraph& graph, const Change& change) {
  Replayed run;
  run.times.assign(graph.size(), kNotYet);
  const auto call_scale = [&](PointId p) {
    return change.call_scale.empty() ? 1.0 : double{change.call_scale[graph.call_of(p)]};
  };
  const auto is_left_out = [&](PointId p) {
    return !change.without_activity.empty() && change.without_activity[graph.activity_of(p)];
  };
  for (const PointId p : graph.order()) {
    std::int64_t time = kNotYet;
    for (const Edge& edge : graph.into(p)) {
      if (change.without[static_cast<std::size_t>(edge.kind)]) continue;
      std::int64_t delay = edge.delay_ns;
      switch (edge.kind) {
        case EdgeKind::Thread:
        case EdgeKind::HandOver: {
          std::int64_t host_ns = edge.delay_ns - edge.loading_ns;
          if (!change.host_cut_ns.empty())
            host_ns =
                std::max<std::int64_t>(0, saturating_sub(host_ns, change.host_cut_ns[graph.call_of(p)]));
          delay = saturating_add(scaled(host_ns, change.dispatch * call_scale(p)),
                                 scaled(edge.loading_ns, change.loading));
          break;
        }
        case EdgeKind::Call:
          delay = scaled(delay, change.dispatch * call_scale(p));
          break;
        case EdgeKind::Activity:
          if (!change.activity_scale.empty())
            delay = scaled(delay, change.activity_scale[graph.activity_of(p)]);
          if (is_left_out(p)) delay = 0;
          break;
        case EdgeKind::Stream:
          if (is_left_out(p)) delay = 0;
          break;
        case EdgeKind::Launch:
          if (is_left_out(p)) continue;
          break;
        case EdgeKind::Sync:
          if (change.without_syncs) continue;
          if (!change.without_sync.empty() && change.without_sync[graph.call_of(p)]) continue;
          break;
        default:
          break;
      }
      time = std::max(time, saturating_add(run.times[edge.from], delay));
    }
    // What depends on nothing happens as it did; what depends only on edges that are left out, at once.
    run.times[p] = time != kNotYet ? time : graph.into(p).empty() ? graph.measured_ns(p) : graph.first_ns();
  }
  run.stuck = graph.size() - graph.order().size();
  sum_up(graph, run);
  return run;
}

Replayed measured(const ReplayGraph& graph) {
  Replayed run;
  run.times.resize(graph.size());
  for (PointId p = 0; p < graph.size(); ++p) run.times[p] = graph.measured_ns(p);
  sum_up(graph, run);
  return run;
}

}  // namespace pel::doctor
