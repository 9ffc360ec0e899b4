#include "compile/passes/move_views_up.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "compile/effects.h"
#include "compile/loops.h"
#include "tensor/make.h"

namespace pel::compiler {
namespace {

// Views that any strides allow.
bool is_movable(const Op& op) {
  constexpr std::string_view kNames[] = {"t", "transpose", "permute", "unsqueeze", "select", "slice"};
  return std::ranges::find(kNames, op.name()) != std::end(kNames);
}

class Mover {
 public:
  Mover(Graph graph, Explanation& why) : graph_(std::move(graph)), why_(why) {}

  Graph run() {
    find_loops();
    const std::vector<bool> written = written_storages(graph_);
    // From the last to the first: what is moved up may be moved again.
    for (std::size_t v = graph_.nodes.size(); v-- > 0;) {
      if (const auto maker = maker_that_yields(v, written)) v = move(v, *maker);
    }
    return std::move(graph_);
  }

 private:
  void find_loops() {
    FakeRun run(graph_, graph_.sizes->hints());
    for (const GraphNode& node : graph_.nodes) {
      const std::vector<RecordedLaunch> launches = run.call(node);
      is_loop_.push_back(!writes(node) && loop_of(node, launches, run).has_value());
    }
  }

  std::size_t readers_of(ValueId id) const {
    std::size_t readers = static_cast<std::size_t>(std::ranges::count(graph_.outputs, id));
    for (const GraphNode& node : graph_.nodes)
      for (const GraphArg& arg : node.args) for_values(arg, [&](ValueId read) { readers += read == id; });
    return readers;
  }
  bool a_loop_reads(ValueId id) const {
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (!is_loop_[n]) continue;
      for (const GraphArg& arg : graph_.nodes[n].args)
        if (const ValueId* read = std::get_if<ValueId>(&arg); read != nullptr && *read == id) return true;
    }
    return false;
  }

  // The loop whose result the view shows, where the view can be moved above it.
  std::optional<std::size_t> maker_that_yields(std::size_t v, const std::vector<bool>& written) const {
    const GraphNode& view = graph_.nodes[v];
    if (!is_movable(*view.op) || view.results.size() != 1) return std::nullopt;
    const ValueId *shown = std::get_if<ValueId>(&view.args[0]),
                  *result = std::get_if<ValueId>(&view.results[0]);
    if (shown == nullptr || result == nullptr || written[graph_[*shown].storage] || readers_of(*shown) != 1 ||
        !a_loop_reads(*result))
      return std::nullopt;
    // No other view of it: the result will have memory of its own.
    if (std::ranges::count(graph_.values, graph_[*shown].storage, &GraphValue::storage) != 2)
      return std::nullopt;
    for (std::size_t n = 0; n < v; ++n) {
      const GraphNode& node = graph_.nodes[n];
      const ValueId* made = node.results.size() == 1 ? std::get_if<ValueId>(&node.results[0]) : nullptr;
      if (!is_loop_[n] || made == nullptr || *made != *shown) continue;
      for (const GraphArg& arg : node.args) {
        const ValueId* read = std::get_if<ValueId>(&arg);
        if (read != nullptr && (written[graph_[*read].storage] || !same_sizes(*read, *shown)))
          return std::nullopt;
      }
      return n;
    }
    return std::nullopt;
  }
  bool same_sizes(ValueId a, ValueId b) const {
    return std::ranges::equal(graph_[a].sizes, graph_[b].sizes,
                              [&](Dim x, Dim y) { return graph_.sizes->is_known_equal(x, y); });
  }

  // Puts the view above the loop; gives the place of the first new view, or its own where nothing was done.
  std::size_t move(std::size_t v, std::size_t maker) {
    const DimContextScope dims(*graph_.sizes);
    const GraphNode view = graph_.nodes[v], loop = graph_.nodes[maker];
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
      GraphValue made = graph_[*read];
      made.origin = GraphValue::Origin::Node;
      made.sizes = seen.sizes().vec();
      made.strides = seen.strides().vec();
      made.is_row_major = seen.is_contiguous();
      *read = {static_cast<std::uint32_t>(graph_.values.size())};
      above.results[0] = *read;
      graph_.values.push_back(std::move(made));
      views.push_back(std::move(above));
    }
    moved.results[0] = result;
    const Tensor given = called(moved);
    const GraphValue& was = graph_[result];
    if (views.empty() || given.dtype() != was.dtype ||
        !std::ranges::equal(given.sizes().vec(), was.sizes, Dim::identical) ||
        !std::ranges::equal(given.strides().vec(), was.strides, Dim::identical)) {
      graph_.values.resize(values_before);
      return v;
    }
    why_.decisions.push_back(
        {"move_views_up", fmt::format("%{} = {}", result.number, view.op->name()),
         fmt::format("above {}, so that it does not stand between loops", loop.op->name()), view.site});
    std::uint32_t storages = 0;
    for (const GraphValue& value : graph_.values) storages = std::max(storages, value.storage + 1);
    graph_.values[result.number].storage = storages;
    const auto at = [](auto& list, std::size_t i) { return list.begin() + static_cast<std::ptrdiff_t>(i); };
    graph_.nodes[v] = std::move(moved);
    is_loop_[v] = true;
    graph_.nodes.insert(at(graph_.nodes, v), views.begin(), views.end());
    is_loop_.insert(at(is_loop_, v), views.size(), false);
    graph_.nodes.erase(at(graph_.nodes, maker));
    is_loop_.erase(at(is_loop_, maker));
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
  Explanation& why_;
  std::vector<bool> is_loop_;
};

}  // namespace

Graph move_views_up(Graph graph, Explanation& why) { return Mover(std::move(graph), why).run(); }

}  // namespace pel::compiler
