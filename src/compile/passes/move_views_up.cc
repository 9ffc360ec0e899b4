#include "compile/passes/move_views_up.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "compile/effects.h"
#include "compile/graph_run.h"
#include "tensor/make.h"

namespace pel::compiler {
namespace {

// Views that are possible at any strides.
bool is_movable(const Op& op) {
  constexpr std::string_view kNames[] = {"t", "transpose", "permute", "unsqueeze", "select", "slice"};
  return std::ranges::find(kNames, op.name()) != std::end(kNames);
}

class Mover {
 public:
  Mover(Graph graph, PassContext& context) : graph_(std::move(graph)), context_(context), uses_(graph_) {}

  Graph run() {
    // From the last to the first: a view that was moved up may be moved again.
    for (std::size_t v = graph_.nodes.size(); v-- > 0;) {
      if (const auto producer = producer_below(v)) v = move(v, *producer);
    }
    return std::move(graph_);
  }

 private:
  bool is_elementwise(std::size_t n) const {
    const GraphNode& node = graph_.nodes[n];
    return !writes(node) && context_.facts.elementwise_call(graph_, node).has_value();
  }
  bool is_written(ValueId id) const { return uses_.storages[graph_[id].storage].is_written; }

  // The elementwise call whose result the view is of, if the view can be moved above it.
  std::optional<std::size_t> producer_below(std::size_t v) const {
    const GraphNode& view = graph_.nodes[v];
    if (!is_movable(*view.op) || view.results.size() != 1) return std::nullopt;
    const ValueId *viewed = std::get_if<ValueId>(&view.args[0]),
                  *result = std::get_if<ValueId>(&view.results[0]);
    if (viewed == nullptr || result == nullptr || is_written(*viewed)) return std::nullopt;
    const std::optional<std::size_t> producer = uses_.producer[viewed->number];
    if (!producer || uses_.is_output[viewed->number] || uses_.consumers[viewed->number].size() != 1)
      return std::nullopt;
    // No other view of it: the result will have memory of its own.
    if (uses_.storages[graph_[*viewed].storage].values != 2) return std::nullopt;
    const GraphNode& node = graph_.nodes[*producer];
    if (node.results.size() != 1 || !is_elementwise(*producer) ||
        std::ranges::none_of(uses_.consumers[result->number],
                             [&](std::size_t consumer) { return is_elementwise(consumer); }))
      return std::nullopt;
    for (const GraphArg& arg : node.args) {
      const ValueId* read = std::get_if<ValueId>(&arg);
      if (read != nullptr && (is_written(*read) || !same_sizes(*read, *viewed))) return std::nullopt;
    }
    return producer;
  }
  bool same_sizes(ValueId a, ValueId b) const {
    return std::ranges::equal(graph_[a].sizes, graph_[b].sizes,
                              [&](Dim x, Dim y) { return graph_.sizes->is_known_equal(x, y); });
  }

  // Puts the view above the elementwise call. Returns the position of the first new view, or `v` if nothing
  // was done.
  std::size_t move(std::size_t v, std::size_t producer) {
    const DimContextScope dims(*graph_.sizes);
    const GraphNode view = graph_.nodes[v], loop = graph_.nodes[producer];
    const ValueId result = std::get<ValueId>(view.results[0]);
    const std::size_t values_before = graph_.values.size();
    std::vector<GraphNode> views;
    GraphNode moved = loop;
    for (GraphArg& arg : moved.args) {
      ValueId* const read = std::get_if<ValueId>(&arg);
      if (read == nullptr) continue;
      GraphNode above = view;
      above.args[0] = *read;
      const Tensor seen = called(above);
      GraphValue value = graph_[*read];
      value.origin = GraphValue::Origin::Node;
      value.sizes = seen.sizes().vec();
      value.strides = seen.strides().vec();
      value.is_row_major = seen.is_contiguous();
      *read = {static_cast<std::uint32_t>(graph_.values.size())};
      above.results[0] = *read;
      graph_.values.push_back(std::move(value));
      views.push_back(std::move(above));
    }
    moved.results[0] = result;
    const Tensor computed = called(moved);
    const GraphValue& was = graph_[result];
    if (views.empty() || computed.dtype() != was.dtype ||
        !std::ranges::equal(computed.sizes().vec(), was.sizes, Dim::identical) ||
        !std::ranges::equal(computed.strides().vec(), was.strides, Dim::identical)) {
      graph_.values.resize(values_before);
      return v;
    }
    context_.why.decisions.push_back(
        {"move_views_up", fmt::format("%{} = {}", result.number, view.op->name()),
         fmt::format("moved above {}, so that it does not separate elementwise calls", loop.op->name()),
         view.site});
    graph_.values[result.number].storage = static_cast<std::uint32_t>(uses_.storages.size());
    const auto at = [](auto& list, std::size_t i) { return list.begin() + static_cast<std::ptrdiff_t>(i); };
    graph_.nodes[v] = std::move(moved);
    graph_.nodes.insert(at(graph_.nodes, v), views.begin(), views.end());
    graph_.nodes.erase(at(graph_.nodes, producer));
    uses_ = GraphUses(graph_);
    return v + views.size() - 1;
  }

  // The result of a call over tensors with the symbolic sizes of the graph.
  Tensor called(const GraphNode& node) {
    const NewDataScope without_data(NewData::None);
    const KeyScope captured({}, KeySet(Key::Autograd) | Key::Autocast | Key::Profile);
    GraphRun run(graph_);
    for (const GraphArg& arg : node.args) {
      for_values(arg, [&](ValueId id) {
        run[id] = make_strided(graph_[id].sizes, graph_[id].strides, graph_[id].dtype, graph_[id].device);
      });
    }
    std::vector<Value> results = call_boxed(*node.op, run.arguments(node), node.site);
    return std::get<Tensor>(results[0]);
  }

  Graph graph_;
  PassContext& context_;
  GraphUses uses_;
};

}  // namespace

Graph move_views_up(Graph graph, PassContext& context) { return Mover(std::move(graph), context).run(); }

}  // namespace pel::compiler
