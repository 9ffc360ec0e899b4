// Groups of nodes that are to be fused, for passes that decide which.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compile/graph_facts.h"

namespace pel::compiler {

// A group has the number of one of its nodes. At first each node is a group.
class Grouping {
 public:
  explicit Grouping(const Graph& graph);

  std::size_t group_of(std::size_t node) const { return group_of_[node]; }
  const std::vector<std::size_t>& members(std::size_t group) const { return groups_[group]; }  // in order
  std::optional<std::size_t> producer(ValueId value) const { return uses_.producer[value.number]; }
  const std::vector<std::size_t>& consumers(ValueId value) const { return uses_.consumers[value.number]; }

  // The nodes of both, in order.
  std::vector<std::size_t> together(std::size_t a, std::size_t b) const;
  // Of nodes that would be fused: values from elsewhere, and those that other nodes or the caller see.
  std::vector<ValueId> inputs_of(const std::vector<std::size_t>& nodes) const;
  std::vector<ValueId> outputs_of(const std::vector<std::size_t>& nodes) const;

  // Moves the nodes of group b to group a. Returns why it cannot, or an empty text.
  std::string join(std::size_t a, std::size_t b);

  bool is_output(ValueId id) const { return uses_.is_output[id.number]; }

  // One node for the calls of a group.
  GraphNode fused(const std::vector<std::size_t>& nodes, NodeKind kind, int number) const;
  // The graph's nodes in an order in which the groups can run; `fuse` builds the node of a group of several.
  template <class Fuse>
  std::vector<GraphNode> nodes(Fuse&& fuse) const {
    std::vector<GraphNode> nodes;
    for (const std::size_t group : order()) {
      const std::vector<std::size_t>& all = groups_[group];
      nodes.push_back(all.size() == 1 ? graph_.nodes[all[0]] : fuse(all));
    }
    return nodes;
  }

 private:
  bool is_callers_last(ValueId id) const;
  // Whether a group depends on the other by way of a third.
  bool needs_through_others(std::size_t group, std::size_t needed) const;
  std::vector<std::size_t> order() const;

  const Graph& graph_;
  GraphUses uses_;
  std::vector<std::vector<std::size_t>> before_;
  std::vector<std::size_t> group_of_;
  std::vector<std::vector<std::size_t>> groups_;  // empty: joined to another
  std::vector<int> spanning_;  // for each node, groups that begin before it and end there or later
};

// "not written to memory: %4, %7", of values that only the body of a fused node sees; `otherwise` if there
// are none.
std::string what_is_saved(const GraphNode& fused, std::string_view otherwise);

}  // namespace pel::compiler
