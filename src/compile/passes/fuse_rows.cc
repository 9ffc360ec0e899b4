#include "compile/passes/fuse_rows.h"

#include <algorithm>

#include <fmt/format.h>

#include "compile/dependencies.h"
#include "compile/grouping.h"
#include "compile/row_loops.h"

namespace pel::compiler {
namespace {

constexpr std::size_t kMostRowCalls = 64;

class RowsFusion {
 public:
  RowsFusion(Graph graph, Explanation& why) : graph_(std::move(graph)), why_(why), groups_(graph_) {}

  Graph run() {
    find_calls();
    // What is read first: a value that is not written saves more than one that is read once.
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      for (const GraphArg& arg : graph_.nodes[n].args)
        for_values(arg, [&](ValueId id) { with_maker(n, id); });
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
    FakeRun run(graph_, graph_.sizes->hints());
    for (const GraphNode& node : graph_.nodes) {
      std::vector<FusedCall> calls;
      bool is_free = true;
      const auto add = [&](const GraphNode& call) {
        std::optional<FusedCall> made = fused_call_of(call, run.call(call), run);
        if (made) {
          calls.push_back(*std::move(made));
        } else {
          is_free = false;
        }
      };
      if (node.is_fused()) {
        for (const GraphNode& inner : node.body) add(inner);
      } else {
        add(node);
      }
      const auto check = [&](ValueId id) {
        is_free = is_free && !unnamed[graph_[id].storage] && graph_[id].device.type == DeviceType::Cpu;
      };
      for (const GraphArg& arg : node.args) for_values(arg, check);
      for (const GraphArg& result : node.results) for_values(result, check);
      if (!is_free) calls.clear();
      calls_.push_back(std::move(calls));
    }
  }

  bool has_rows(std::size_t node) const {
    return std::ranges::any_of(groups_.members(groups_.group_of(node)), [&](std::size_t member) {
      return std::ranges::any_of(calls_[member],
                                 [](const FusedCall& call) { return std::holds_alternative<RowCall>(call); });
    });
  }

  void with_maker(std::size_t reader, ValueId value) {
    const std::optional<std::size_t> maker = groups_.maker(value);
    if (!maker || groups_.group_of(*maker) == groups_.group_of(reader)) return;
    if (calls_[reader].empty() || calls_[*maker].empty() || (!has_rows(reader) && !has_rows(*maker))) return;
    const std::string reason = try_join(groups_.group_of(reader), groups_.group_of(*maker));
    if (reason.empty()) return;
    why_.decisions.push_back({"fuse_rows",
                              fmt::format("%{} is written by {} and read by {}", value.number,
                                          graph_.nodes[*maker].label(), graph_.nodes[reader].label()),
                              reason, graph_.nodes[reader].site, Decision::Kind::Refused});
  }

  // Kernels that read one value and depend on each other in no way read it once.
  void with_siblings(std::size_t node) {
    for (const GraphArg& arg : graph_.nodes[node].args) {
      for_values(arg, [&](ValueId id) {
        if (graph_[id].sizes.size() < 2) return;
        const std::vector<std::size_t> readers = groups_.readers(id);
        for (const std::size_t other : readers) {
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
  // The first has the sizes of the rows where one has: the kernel takes its layout to be that of the others.
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
    if (calls.size() > kMostRowCalls) return fmt::format("a kernel computes at most {} calls", kMostRowCalls);
    FusedRows rows = fuse_row_calls(graph_, inputs_of(joined), groups_.outputs_of(joined), calls);
    if (!rows.loops) return rows.reason;
    return groups_.join(a, b);
  }

  GraphNode fused(const std::vector<std::size_t>& members, int number) {
    GraphNode node = groups_.fused(members, kRowsPrefix, number);
    node.args.clear();
    for (const ValueId id : inputs_of(members)) node.args.emplace_back(id);
    why_.decisions.push_back({"fuse_rows", fmt::format("{} computes {} calls", node.name, node.body.size()),
                              what_is_saved(node, "they read the same"), node.site});
    return node;
  }

  Graph graph_;
  Explanation& why_;
  Grouping groups_;
  std::vector<std::vector<FusedCall>> calls_;  // of each node; empty: it cannot be a part
};

}  // namespace

Graph fuse_rows(Graph graph, Explanation& why) {
  if (loop_compiler(DeviceType::Cpu) == nullptr) return graph;
  return RowsFusion(std::move(graph), why).run();
}

}  // namespace pel::compiler
