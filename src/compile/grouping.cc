#include "compile/grouping.h"

#include <algorithm>
#include <queue>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compile/dependencies.h"

namespace pel::compiler {

Grouping::Grouping(const Graph& graph) : graph_(graph), uses_(graph), before_(dependencies(graph)) {
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    group_of_.push_back(n);
    groups_.push_back({n});
    spanning_.push_back(0);
  }
}

std::vector<std::size_t> Grouping::together(std::size_t a, std::size_t b) const {
  std::vector<std::size_t> joined;
  std::ranges::merge(groups_[a], groups_[b], std::back_inserter(joined));
  return joined;
}

std::vector<ValueId> Grouping::inputs_of(const std::vector<std::size_t>& nodes) const {
  std::vector<ValueId> inputs;
  for (const std::size_t node : nodes) {
    for (const GraphArg& arg : graph_.nodes[node].args) {
      for_values(arg, [&](ValueId id) {
        const auto from = producer(id);
        if ((!from || !std::ranges::binary_search(nodes, *from)) &&
            std::ranges::find(inputs, id) == inputs.end())
          inputs.push_back(id);
      });
    }
  }
  return inputs;
}

std::vector<ValueId> Grouping::outputs_of(const std::vector<std::size_t>& nodes) const {
  std::vector<ValueId> outputs;
  for (const std::size_t node : nodes) {
    for (const GraphArg& result : graph_.nodes[node].results) {
      for_values(result, [&](ValueId id) {
        const bool is_consumed = std::ranges::any_of(
            consumers(id), [&](std::size_t other) { return !std::ranges::binary_search(nodes, other); });
        if (is_consumed || is_output(id) || is_callers_last(id)) outputs.push_back(id);
      });
    }
  }
  return outputs;
}

// The caller sees the last version of an input or a constant.
bool Grouping::is_callers_last(ValueId id) const {
  const GraphUses::Storage& storage = uses_.storages[graph_[id].storage];
  return storage.is_callers && storage.last == id;
}

std::string Grouping::join(std::size_t a, std::size_t b) {
  if (needs_through_others(a, b) || needs_through_others(b, a)) return "fusing them would create a cycle";
  std::vector<std::size_t> joined = together(a, b);
  const auto count = [&](const std::vector<std::size_t>& group, int change) {
    for (std::size_t n = group.front() + 1; n <= group.back(); ++n) spanning_[n] += change;
  };
  count(groups_[a], -1);
  count(groups_[b], -1);
  count(joined, 1);
  for (const std::size_t node : joined) group_of_[node] = a;
  groups_[a] = std::move(joined);
  groups_[b].clear();
  return "";
}

bool Grouping::needs_through_others(std::size_t group, std::size_t needed) const {
  std::vector<bool> is_seen(graph_.nodes.size());
  std::vector<std::size_t> pending;
  // Groups that end before this node do not depend on any that follow.
  std::size_t begin = groups_[needed].front();
  while (spanning_[begin] != 0) --begin;
  const auto look_before = [&](std::size_t own) {
    for (const std::size_t node : groups_[own]) {
      for (const std::size_t earlier : before_[node]) {
        const std::size_t other = group_of_[earlier];
        if (other == own || other == group || is_seen[other] || (own == group && other == needed)) continue;
        is_seen[other] = true;
        if (groups_[other].back() >= begin) pending.push_back(other);
      }
    }
  };
  look_before(group);
  while (!pending.empty()) {
    const std::size_t next = pending.back();
    pending.pop_back();
    if (next == needed) return true;
    look_before(next);
  }
  return false;
}

// By their first nodes if there is a choice.
std::vector<std::size_t> Grouping::order() const {
  const std::size_t count = graph_.nodes.size();
  std::vector<std::set<std::size_t>> needs(count);
  std::vector<std::vector<std::size_t>> needed_by(count);
  std::vector<std::size_t> first(count, count);
  for (std::size_t n = 0; n < count; ++n) {
    const std::size_t own = group_of_[n];
    first[own] = std::min(first[own], n);
    for (const std::size_t earlier : before_[n]) {
      const std::size_t other = group_of_[earlier];
      if (other != own && needs[own].insert(other).second) needed_by[other].push_back(own);
    }
  }
  using Ready = std::pair<std::size_t, std::size_t>;  // first node, group
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
  std::vector<std::size_t> open(count), ordered;
  for (std::size_t g = 0; g < count; ++g) {
    open[g] = needs[g].size();
    if (first[g] != count && open[g] == 0) ready.push({first[g], g});
  }
  while (!ready.empty()) {
    const std::size_t group = ready.top().second;
    ready.pop();
    ordered.push_back(group);
    for (const std::size_t next : needed_by[group])
      if (--open[next] == 0) ready.push({first[next], next});
  }
  return ordered;
}

GraphNode Grouping::fused(const std::vector<std::size_t>& nodes, NodeKind kind, int number) const {
  constexpr std::size_t kMaxNames = 6;
  GraphNode node;
  node.kind = kind;
  for (const ValueId id : inputs_of(nodes)) node.args.emplace_back(id);
  for (const ValueId id : outputs_of(nodes)) node.results.emplace_back(id);
  for (const std::size_t member : nodes) {
    const GraphNode& call = graph_.nodes[member];
    if (call.is_fused()) {
      node.body.insert(node.body.end(), call.body.begin(), call.body.end());
    } else {
      node.body.push_back(call);
    }
  }
  std::vector<std::string_view> names;
  for (const GraphNode& call : node.body) {
    if (names.size() < kMaxNames && std::ranges::find(names, call.label()) == names.end())
      names.push_back(call.label());
  }
  node.name = fmt::format("{}{}_{}", fused_prefix(kind), fmt::join(names, "_"), number);
  std::ranges::replace(node.name, '.', '_');
  node.site = graph_.nodes[nodes.back()].site;
  return node;
}

std::string what_is_saved(const GraphNode& fused, std::string_view otherwise) {
  std::vector<std::string> saved;
  for (const GraphNode& call : fused.body) {
    for (const GraphArg& result : call.results) {
      for_values(result, [&](ValueId id) {
        if (!has_value(fused.results, id)) saved.push_back(fmt::format("%{}", id.number));
      });
    }
  }
  return saved.empty() ? std::string(otherwise)
                       : fmt::format("not written to memory: {}", fmt::join(saved, ", "));
}

}  // namespace pel::compiler
