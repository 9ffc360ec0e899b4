#include "doctor/replay/replay.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace pel::doctor {
namespace {

constexpr std::int64_t kNotYet = std::numeric_limits<std::int64_t>::min();

// Rounds half away from zero, as std::round does. That is a call of a library on most targets, and so is a
// conversion to 64 bits on WebAssembly; adding 1.5 * 2^52 rounds to the nearest, and to even in the middle.
std::int64_t scaled(std::int64_t ns, double factor) {
  if (factor == 1) return ns;
  const double product = static_cast<double>(ns) * factor;
  constexpr double kHasFraction = 1LL << 51;
  if (!(std::abs(product) < kHasFraction)) [[unlikely]]
    return saturating_cast(std::round(product));
  constexpr double kShift = 3LL << 51;
  const double shifted = product + kShift, rest = product - (shifted - kShift);
  const std::int64_t nearest = std::bit_cast<std::int64_t>(shifted) - std::bit_cast<std::int64_t>(kShift);
  return nearest + (rest == 0.5 && product > 0) - (rest == -0.5 && product < 0);
}

// What a change means for the edges of each kind.
struct KindChange {
  double factor = 1;
  bool is_left_out = false;
};
std::array<KindChange, kEdgeKindCount> by_kind(const Change& change) {
  std::array<KindChange, kEdgeKindCount> kinds;
  for (std::size_t kind = 0; kind < kEdgeKindCount; ++kind) kinds[kind].is_left_out = change.without[kind];
  for (const EdgeKind kind : {EdgeKind::Thread, EdgeKind::HandOver, EdgeKind::Call})
    kinds[static_cast<std::size_t>(kind)].factor = change.dispatch;
  kinds[static_cast<std::size_t>(EdgeKind::Sync)].is_left_out |= change.without_syncs;
  return kinds;
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
  const std::array<KindChange, kEdgeKindCount> kinds = by_kind(change);
  const std::span<const PointId> order = graph.order();
  // What depends on nothing happens as it did; what depends only on edges that are left out, at once.
  for (const PointId p : order.first(graph.roots())) run.times[p] = graph.measured_ns(p);
  const Edge* edge = graph.edges().data();
  for (const PointId p : order.subspan(graph.roots())) {
    std::int64_t time = kNotYet;
    do {
      const KindChange& kind = kinds[static_cast<std::size_t>(edge->kind)];
      if (kind.is_left_out) continue;
      double factor = kind.factor;
      if (edge->kind == EdgeKind::Activity && !change.activity_scale.empty())
        factor = change.activity_scale[graph.activity_of(p)];
      std::int64_t delay = scaled(edge->delay_ns - edge->loading_ns, factor);
      if (edge->loading_ns != 0) delay = saturating_add(delay, scaled(edge->loading_ns, change.loading));
      time = std::max(time, saturating_add(run.times[edge->from], delay));
    } while (!edge++->is_last);
    run.times[p] = time != kNotYet ? time : graph.first_ns();
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
