// Nodes of a graph in groups, each of which is to be one node: how passes that fuse decide what goes
// together.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "compile/graph.h"

namespace pel::compiler {

// Groups are named by the number of a node that is in them. At first each node is one.
class Grouping {
 public:
  explicit Grouping(const Graph& graph);

  std::size_t group_of(std::size_t node) const { return group_of_[node]; }
  const std::vector<std::size_t>& members(std::size_t group) const { return groups_[group]; }  // in order
  std::optional<std::size_t> maker(ValueId value) const { return maker_[value.number]; }
  const std::vector<std::size_t>& readers(ValueId value) const { return readers_[value.number]; }

  // What both have, in order.
  std::vector<std::size_t> together(std::size_t a, std::size_t b) const;
  // Of nodes that would be one: values from elsewhere, and those that others or the caller see.
  std::vector<ValueId> inputs_of(const std::vector<std::size_t>& nodes) const;
  std::vector<ValueId> outputs_of(const std::vector<std::size_t>& nodes) const;

  // Group b becomes a part of a. Empty, or why that cannot be.
  std::string join(std::size_t a, std::size_t b);

  bool is_output(ValueId id) const { return is_output_.contains(id.number); }

  // One node for the calls of a group.
  GraphNode fused(const std::vector<std::size_t>& nodes, std::string_view prefix, int number) const;
  // The graph's nodes in an order in which the groups can run, each group of several made by `fuse`.
  template <class Fuse>
  std::vector<GraphNode> nodes(Fuse&& fuse) const {
    std::vector<GraphNode> made;
    for (const std::size_t group : order()) {
      const std::vector<std::size_t>& all = groups_[group];
      made.push_back(all.size() == 1 ? graph_.nodes[all[0]] : fuse(all));
    }
    return made;
  }

 private:
  bool is_kept(ValueId id) const;
  // Whether a group needs the other by way of a third.
  bool needs_through_others(std::size_t group, std::size_t needed) const;
  std::vector<std::size_t> order() const;

  const Graph& graph_;
  std::vector<std::vector<std::size_t>> before_;
  std::vector<std::size_t> group_of_;
  std::vector<std::vector<std::size_t>> groups_;  // empty: joined to another
  std::vector<int> spanning_;  // for each node, groups that begin before it and end there or later
  std::vector<std::optional<std::size_t>> maker_;
  std::vector<std::vector<std::size_t>> readers_;
  std::set<std::uint32_t> is_output_;
};

// "not written to memory: %4, %7", of values that the body of a fused node makes; `otherwise` where there is
// none.
std::string what_is_saved(const GraphNode& fused, std::string_view otherwise);

}  // namespace pel::compiler
