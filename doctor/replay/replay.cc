#include "doctor/replay/replay.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>

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

template <class T, class Combine>
void combine_into(std::vector<T>& a, const std::vector<T>& b, Combine combine) {
  if (b.empty()) return;
  if (a.empty()) {
    a = b;
    return;
  }
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = combine(a[i], b[i]);
}

// Changes of single calls and activities, which most replays do not have.
bool has_details(const Change& change) {
  return !change.without_activity.empty() || !change.call_scale.empty() || !change.host_cut_ns.empty() ||
         !change.without_sync.empty();
}
// Of the delay of an edge, without loading; nothing: the edge is left out.
std::optional<std::int64_t> detailed_delay(const ReplayGraph& graph, const Change& change, PointId to,
                                           const Edge& edge, double factor) {
  std::int64_t delay = edge.delay_ns - edge.loading_ns;
  const std::size_t call = graph.call_of(to);
  const bool is_left_out = graph.is_of_activity(to) && !change.without_activity.empty() &&
                           change.without_activity[graph.activity_of(to)];
  switch (edge.kind) {
    case EdgeKind::Thread:
    case EdgeKind::HandOver:
      if (!change.host_cut_ns.empty())
        delay = std::max<std::int64_t>(0, saturating_sub(delay, change.host_cut_ns[call]));
      [[fallthrough]];
    case EdgeKind::Call:
      if (!change.call_scale.empty()) factor *= double{change.call_scale[call]};
      break;
    case EdgeKind::Activity:
    case EdgeKind::Stream:
      if (is_left_out) return 0;
      break;
    case EdgeKind::Launch:
      if (is_left_out) return std::nullopt;
      break;
    case EdgeKind::Sync:
      if (!change.without_sync.empty() && change.without_sync[call]) return std::nullopt;
      break;
    default:
      break;
  }
  return scaled(delay, factor);
}

template <bool kHasDetails>
void run_edges(const ReplayGraph& graph, const Change& change, Replayed& run) {
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
        factor = double{change.activity_scale[graph.activity_of(p)]};
      std::int64_t delay;
      if constexpr (kHasDetails) {
        const std::optional<std::int64_t> changed = detailed_delay(graph, change, p, *edge, factor);
        if (!changed) continue;
        delay = *changed;
      } else {
        delay = scaled(edge->delay_ns - edge->loading_ns, factor);
      }
      if (edge->loading_ns != 0) delay = saturating_add(delay, scaled(edge->loading_ns, change.loading));
      time = std::max(time, saturating_add(run.times[edge->from], delay));
    } while (!edge++->is_last);
    run.times[p] = time != kNotYet ? time : graph.first_ns();
  }
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
  (has_details(change) ? run_edges<true> : run_edges<false>)(graph, change, run);
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
