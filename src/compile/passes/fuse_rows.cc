#include "compile/passes/fuse_rows.h"

#include <algorithm>

#include <fmt/format.h>

#include "compile/dependencies.h"
#include "compile/grouping.h"
#include "compile/row_loops.h"

namespace pel::compiler {
namespace {

constexpr std::size_t kMaxRowCalls = 64;

class RowsFusion {
 public:
  RowsFusion(Graph graph, PassContext& context)
      : graph_(std::move(graph)), context_(context), groups_(graph_) {}

  Graph run() {
    find_calls();
    // Producers before siblings: a value that is not written saves more than one that is read once.
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      for (const GraphArg& arg : graph_.nodes[n].args)
        for_values(arg, [&](ValueId id) { with_producer(n, id); });
    }
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n)
      if (has_rows(n)) with_siblings(n);
    int number = 0;
    graph_.nodes =
        groups_.nodes([&](const std::vector<std::size_t>& members) { return fused(members, number++); });
    return std::move(graph_);
  }

 private:
  void find_calls() {
    const std::vector<bool> unnamed = unnamed_storages(graph_);
    for (const GraphNode& node : graph_.nodes) {
      std::vector<FusedCall> calls;
      bool may_fuse = true;
      const auto add = [&](const GraphNode& inner) {
        std::optional<FusedCall> call = context_.facts.fused_call(graph_, inner);
        may_fuse = may_fuse && call.has_value();
        if (call) calls.push_back(*std::move(call));
      };
      if (node.is_fused()) {
        for (const GraphNode& inner : node.body) add(inner);
      } else {
        add(node);
      }
      const auto check = [&](ValueId id) {
        may_fuse = may_fuse && !unnamed[graph_[id].storage] && compiles_loops(graph_[id].device);
      };
      for (const GraphArg& arg : node.args) for_values(arg, check);
      for (const GraphArg& result : node.results) for_values(result, check);
      if (!may_fuse) calls.clear();
      has_rows_.push_back(std::ranges::any_of(
          calls, [](const FusedCall& call) { return std::holds_alternative<RowCall>(call); }));
      calls_.push_back(std::move(calls));
    }
  }

  bool has_rows(std::size_t node) const {
    return std::ranges::any_of(groups_.members(groups_.group_of(node)),
                               [&](std::size_t member) { return has_rows_[member]; });
  }

  void with_producer(std::size_t consumer, ValueId value) {
    const std::optional<std::size_t> producer = groups_.producer(value);
    if (!producer || groups_.group_of(*producer) == groups_.group_of(consumer)) return;
    if (calls_[consumer].empty() || calls_[*producer].empty() ||
        (!has_rows(consumer) && !has_rows(*producer)))
      return;
    const std::string reason = try_join(groups_.group_of(consumer), groups_.group_of(*producer));
    if (reason.empty()) return;
    context_.why.decisions.push_back(
        {"fuse_rows",
         fmt::format("%{}, produced by {} and consumed by {}", value.number, graph_.nodes[*producer].label(),
                     graph_.nodes[consumer].label()),
         reason, graph_.nodes[consumer].site, Decision::Kind::Refused});
  }

  // Kernels that read one value and do not depend on each other read it once.
  void with_siblings(std::size_t node) {
    for (const GraphArg& arg : graph_.nodes[node].args) {
      for_values(arg, [&](ValueId id) {
        if (graph_[id].sizes.size() < 2) return;
        const std::vector<std::size_t> consumers = groups_.consumers(id);
        for (const std::size_t other : consumers) {
          if (calls_[other].empty() || groups_.group_of(other) == groups_.group_of(node)) continue;
          try_join(groups_.group_of(node), groups_.group_of(other));
        }
      });
    }
  }

  std::vector<FusedCall> calls_of(const std::vector<std::size_t>& nodes) const {
    std::vector<FusedCall> calls;
    for (const std::size_t node : nodes) calls.insert(calls.end(), calls_[node].begin(), calls_[node].end());
    return calls;
  }
  // The largest first: the kernel assumes that the others have its layout.
  std::vector<ValueId> inputs_of(const std::vector<std::size_t>& nodes) const {
    std::vector<ValueId> inputs = groups_.inputs_of(nodes);
    const auto first = std::ranges::max_element(inputs, {}, [&](ValueId id) { return elements(id); });
    if (first != inputs.end()) std::rotate(inputs.begin(), first, first + 1);
    return inputs;
  }
  std::int64_t elements(ValueId id) const {
    std::int64_t count = 1;
    for (const Dim size : graph_[id].sizes)
      count *= size.is_symbolic() ? graph_.sizes->evaluate(size, graph_.sizes->hints()) : size.value();
    return count;
  }

  // Empty, or why not.
  std::string try_join(std::size_t a, std::size_t b) {
    const std::vector<std::size_t> joined = groups_.together(a, b);
    const std::vector<FusedCall> calls = calls_of(joined);
    if (calls.size() > kMaxRowCalls) return fmt::format("a kernel computes at most {} calls", kMaxRowCalls);
    const std::string reason =
        why_rows_cannot_fuse(graph_, inputs_of(joined), groups_.outputs_of(joined), calls);
    return reason.empty() ? groups_.join(a, b) : reason;
  }

  GraphNode fused(const std::vector<std::size_t>& members, int number) {
    GraphNode node = groups_.fused(members, NodeKind::FusedRows, number);
    node.args.clear();
    for (const ValueId id : inputs_of(members)) node.args.emplace_back(id);
    context_.why.decisions.push_back({"fuse_rows",
                                      fmt::format("{} computes {} calls", node.name, node.body.size()),
                                      what_is_saved(node, "they read the same values"), node.site});
    return node;
  }

  Graph graph_;
  PassContext& context_;
  Grouping groups_;
  std::vector<bool> has_rows_;                 // of each node
  std::vector<std::vector<FusedCall>> calls_;  // of each node; empty: it cannot be fused
};

}  // namespace

Graph fuse_rows(Graph graph, PassContext& context) {
  return compiles_loops(graph) ? RowsFusion(std::move(graph), context).run() : std::move(graph);
}

}  // namespace pel::compiler
