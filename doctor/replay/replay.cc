#include "doctor/replay/replay.h"

#include <algorithm>
#include <cmath>
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

}  // namespace

Replayed replay(const ReplayGraph& graph, const Change& change) {
  Replayed run;
  run.times.assign(graph.size(), kNotYet);
  for (const PointId p : graph.order()) {
    std::int64_t time = kNotYet;
    for (const Edge& edge : graph.into(p)) {
      if (change.without[static_cast<std::size_t>(edge.kind)]) continue;
      std::int64_t delay = edge.delay_ns;
      switch (edge.kind) {
        case EdgeKind::Thread:
        case EdgeKind::HandOver:
          delay = saturating_add(scaled(edge.delay_ns - edge.loading_ns, change.dispatch),
                                 scaled(edge.loading_ns, change.loading));
          break;
        case EdgeKind::Call:
          delay = scaled(delay, change.dispatch);
          break;
        case EdgeKind::Activity:
          if (!change.activity_scale.empty())
            delay = scaled(delay, change.activity_scale[graph.activity_of(p)]);
          break;
        case EdgeKind::Sync:
          if (change.without_syncs) continue;
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
