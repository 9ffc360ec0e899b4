// The graph of what had to happen before what, for page/what_if.js to run again; or answers for a grid of
// changes.
#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>

#include "doctor/model/saturating.h"
#include "doctor/replay/other_device.h"
#include "doctor/report/page_data.h"

namespace pel::doctor {
namespace {

// As page/what_if.js knows edges: by what scales their delay.
enum class PageEdge : std::uint8_t { Fixed, Dispatch, DispatchAndLoading, Activity, Sync };

// Where answers are computed beforehand; between them the page interpolates.
constexpr std::array<double, 7> kDispatchAt{0, 0.25, 0.5, 0.75, 1, 1.5, 2};
constexpr std::array<double, 5> kActivitiesAt{0, 0.5, 1, 1.5, 2};
constexpr std::array<double, 3> kLoadingAt{0, 1, 2};
constexpr std::array<double, 1> kUnchanged{1};

PageEdge page_edge(const Examined& examined, const ReplayGraph& graph, PointId to, const Edge& edge) {
  switch (edge.kind) {
    case EdgeKind::Thread:
    case EdgeKind::HandOver:
      return edge.loading_ns == 0 ? PageEdge::Dispatch : PageEdge::DispatchAndLoading;
    case EdgeKind::Call:
      return PageEdge::Dispatch;
    case EdgeKind::Activity:
      // The time of collectives holds the waits of other ranks.
      return examined.kernels.is_collective(examined.model.activities()[graph.activity_of(to)].event)
                 ? PageEdge::Fixed
                 : PageEdge::Activity;
    case EdgeKind::Sync:
      return PageEdge::Sync;
    default:
      return PageEdge::Fixed;
  }
}

// Points are numbered in the order in which they can be computed.
void write_graph(PageJson& json, const Examined& examined, const ReplayGraph& graph) {
  std::vector<std::uint32_t> rank(graph.size(), 0);
  for (std::uint32_t i = 0; i < graph.order().size(); ++i) rank[graph.order()[i]] = i;
  Change nothing_waits;
  nothing_waits.without.fill(true);
  const Replayed alone = replay(graph, nothing_waits);  // each point as if it waited for nothing
  PageColumn counts, froms, kinds, delays, loadings, roots, root_times, begins, ends, steps;
  for (std::uint32_t i = 0; i < graph.order().size(); ++i) {
    const PointId p = graph.order()[i];
    const std::span<const Edge> edges = graph.into(p);
    counts.add(static_cast<std::int64_t>(edges.size()));
    bool may_be_root = true;  // it is one where it waits for nothing
    for (const Edge& edge : edges) {
      const PageEdge kind = page_edge(examined, graph, p, edge);
      froms.add(std::int64_t{i} - rank[edge.from]);
      kinds.add(static_cast<std::int64_t>(kind));
      delays.add(edge.delay_ns);
      if (kind == PageEdge::DispatchAndLoading) loadings.add(edge.loading_ns);
      may_be_root = may_be_root && kind == PageEdge::Sync;
    }
    if (may_be_root) {
      roots.add_delta(i);
      root_times.add_delta(saturating_sub(alone.times[p], graph.measured_ns(graph.order().front())));
    }
  }
  for (std::size_t w = 0; w < examined.model.activities().size(); ++w) {
    const std::uint32_t step = examined.model.activities()[w].step;
    begins.add_delta(rank[graph.activity_begin(w)]);
    ends.add_delta(rank[graph.activity_end(w)]);
    steps.add_delta(step < examined.model.steps().size() ? std::int64_t{step} : -1);
  }
  json.key("graph").begin_object().key("counts").text(counts.str()).key("froms").text(froms.str());
  json.key("kinds").text(kinds.str()).key("delays").text(delays.str()).key("loadings").text(loadings.str());
  json.key("roots")
      .text(roots.str())
      .key("root_times")
      .text(root_times.str())
      .key("begins")
      .text(begins.str());
  json.key("ends").text(ends.str()).key("steps").text(steps.str()).end_object();
}

void write_grid(PageJson& json, const Examined& examined, const WhatIf& what_if, bool has_loading) {
  const std::span<const double> loading_at = has_loading ? std::span<const double>(kLoadingAt) : kUnchanged;
  const auto write_axis = [&](std::string_view key, std::span<const double> values) {
    json.key(key).begin_array();
    for (const double value : values) json.number(value);
    json.end_array();
  };
  json.key("grid").begin_object();
  write_axis("dispatch", kDispatchAt);
  write_axis("loading", loading_at);
  write_axis("activities", kActivitiesAt);
  PageColumn spans, steps;
  const std::span<const Activity> activities = examined.model.activities();
  for (const bool without_syncs : {false, true}) {
    for (const double factor : kActivitiesAt) {
      Change change{.without_syncs = without_syncs};
      change.activity_scale.assign(activities.size(), 1);
      for (std::size_t w = 0; w < activities.size(); ++w) {
        if (!examined.kernels.is_collective(activities[w].event))
          change.activity_scale[w] = static_cast<float>(factor);
      }
      for (const double loading : loading_at) {
        change.loading = loading;
        for (const double dispatch : kDispatchAt) {
          change.dispatch = dispatch;
          const Answer answer = what_if.ask(change);
          spans.add_delta(answer.span_ns);
          steps.add_delta(answer.step_ns);
        }
      }
    }
  }
  json.key("spans").text(spans.str()).key("steps").text(steps.str()).end_object();
}

enum class Answers : std::uint8_t { InThePage, Beforehand };

// Devices that the activities could run on: the graph needs factors, for each class of activities; else
// answers.
void write_devices(PageJson& json, const Examined& examined, const WhatIf& what_if, Answers answers) {
  const OtherDevice other(examined);
  json.key("devices")
      .begin_object()
      .key("refusal")
      .text(other.refusal())
      .key("too_short_ns")
      .number(kTooShortNs)
      .key("names")
      .begin_array();
  if (!other.refusal().empty()) {
    json.end_array().end_object();
    return;
  }
  for (const Device& device : known_devices()) json.text(label_of(device));
  json.end_array();
  if (answers == Answers::InThePage) {
    PageColumn classes;
    for (std::size_t w = 0; w < examined.model.activities().size(); ++w) classes.add(other.class_of(w));
    json.key("classes").text(classes.str()).key("factors").begin_array();
    for (const Device& device : known_devices()) {
      json.begin_array();
      for (std::uint32_t c = 0; c < other.classes(); ++c)
        json.raw(fmt::format("{}", other.factor(c, device)));  // of a float: fewer digits than of a double
      json.end_array();
    }
    json.end_array();
  } else {
    PageColumn spans, steps;
    for (const Device& device : known_devices()) {
      Change change;
      for (std::size_t w = 0; w < examined.model.activities().size(); ++w)
        change.activity_scale.push_back(other.factor(other.class_of(w), device));
      const Answer answer = what_if.ask(change);
      spans.add_delta(answer.span_ns);
      steps.add_delta(answer.step_ns);
    }
    json.key("spans").text(spans.str()).key("steps").text(steps.str());
  }
  json.end_object();
}

}  // namespace

std::string page_what_if(const Examined& examined, std::size_t max_edges, std::size_t max_bytes) {
  const Model& model = examined.model;
  if (model.activities().empty() || model.activities().size() == model.activities_without_launch())
    return "null";
  const WhatIf what_if(examined);
  const ReplayGraph& graph = what_if.graph();
  PageJson json;
  json.begin_object().key("refusal").text(what_if.refusal());
  const Answer measured = what_if.measured(), unchanged = what_if.unchanged();
  json.key("measured").begin_array().number(measured.span_ns).number(measured.step_ns).end_array();
  json.key("unchanged").begin_array().number(unchanged.span_ns).number(unchanged.step_ns).end_array();
  std::size_t edges = 0;
  bool has_loading = false;
  for (PointId p = 0; p < graph.size(); ++p) {
    edges += graph.into(p).size();
    for (const Edge& edge : graph.into(p)) has_loading = has_loading || edge.loading_ns != 0;
  }
  json.key("has_loading").fact(has_loading).key("has_syncs").fact(graph.edges_of(EdgeKind::Sync) != 0);
  if (what_if.refusal().empty()) {
    PageJson with_graph = json;
    if (edges <= max_edges) {
      write_graph(with_graph, examined, graph);
      write_devices(with_graph, examined, what_if, Answers::InThePage);
    }
    if (edges <= max_edges && with_graph.str().size() <= max_bytes) {
      json = std::move(with_graph);
    } else {
      write_grid(json, examined, what_if, has_loading);
      write_devices(json, examined, what_if, Answers::Beforehand);
    }
  }
  json.end_object();
  return json.str();
}

}  // namespace pel::doctor
