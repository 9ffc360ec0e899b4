#include "compile/passes/order_for_memory.h"

#include <algorithm>
#include <set>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/readable.h"
#include "compile/dependencies.h"
#include "compile/live_bytes.h"

namespace pel::compiler {
namespace {

using Order = std::vector<std::size_t>;
using Before = std::vector<std::vector<std::size_t>>;
constexpr std::int64_t kMinGain = 100;  // a new order must save this part of the peak

// Of the calls that can run, the one that frees the most bytes, less those it allocates.
Order by_bytes(const LiveBytes& bytes, const Before& before) {
  const std::size_t count = before.size();
  std::vector<std::size_t> open(count);
  std::vector<std::vector<std::size_t>> after(count);
  std::vector<std::size_t> uses(bytes.storages());  // that are still to come
  std::vector<bool> is_allocated(bytes.storages());
  std::set<std::size_t> ready;
  for (std::size_t node = 0; node < count; ++node) {
    open[node] = before[node].size();
    if (open[node] == 0) ready.insert(node);
    for (const std::size_t earlier : before[node]) after[earlier].push_back(node);
    for (const std::uint32_t storage : bytes.touched_by(node)) ++uses[storage];
  }
  const auto growth = [&](std::size_t node) {
    std::int64_t change = 0;
    for (const std::uint32_t storage : bytes.touched_by(node)) {
      if (!is_allocated[storage]) change += bytes.bytes_of(storage);
      if (uses[storage] == 1 && !bytes.is_returned(storage)) change -= bytes.bytes_of(storage);
    }
    return change;
  };
  Order order;
  while (!ready.empty()) {
    const std::size_t next =
        *std::ranges::min_element(ready, {}, [&](std::size_t node) { return std::pair(growth(node), node); });
    ready.erase(next);
    order.push_back(next);
    for (const std::uint32_t storage : bytes.touched_by(next)) {
      is_allocated[storage] = true;
      --uses[storage];
    }
    for (const std::size_t node : after[next])
      if (--open[node] == 0) ready.insert(node);
  }
  return order;
}

// Each call just before the first that depends on it; the last call with its dependencies comes last.
Order as_late_as_needed(const Before& before) {
  const std::size_t count = before.size();
  Order order;
  std::vector<bool> is_placed(count);
  const auto place = [&](auto&& self, std::size_t node) -> void {
    if (is_placed[node]) return;
    is_placed[node] = true;
    for (const std::size_t earlier : before[node]) self(self, earlier);
    order.push_back(node);
  };
  std::vector<bool> is_needed(count);
  for (const auto& list : before)
    for (const std::size_t earlier : list) is_needed[earlier] = true;
  for (std::size_t node = 0; node < count; ++node)
    if (!is_needed[node]) place(place, node);
  return order;
}

// A call that depends on no other, such as zeros to add to, comes just before the first that depends on it.
Order begun_late(const Order& given, const Before& before) {
  Order order;
  std::vector<bool> is_placed(before.size());
  const auto place = [&](std::size_t node) {
    if (!is_placed[node]) order.push_back(node);
    is_placed[node] = true;
  };
  for (const std::size_t node : given) {
    if (before[node].empty()) continue;
    std::ranges::for_each(before[node], place);
    place(node);
  }
  std::ranges::for_each(given, place);
  return order;
}

// Nodes outside of the longest increasing subsequence.
std::vector<std::size_t> moved_nodes(const Order& order) {
  std::vector<std::size_t> length(order.size(), 1), previous(order.size(), order.size());
  std::size_t end = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (order[j] < order[i] && length[j] + 1 > length[i]) {
        length[i] = length[j] + 1;
        previous[i] = j;
      }
    }
    if (length[i] > length[end]) end = i;
  }
  std::vector<bool> stays(order.size());
  for (std::size_t i = end; i < order.size(); i = previous[i]) stays[i] = true;
  std::vector<std::size_t> moved;
  for (std::size_t i = 0; i < order.size(); ++i)
    if (!stays[i]) moved.push_back(order[i]);
  return moved;
}

std::string name_of(const GraphNode& node) {
  std::string name(node.label());
  for (const GraphArg& result : node.results) {
    if (const ValueId* id = std::get_if<ValueId>(&result)) return fmt::format("%{} = {}", id->number, name);
  }
  return name;
}

}  // namespace

Graph order_for_memory(Graph graph, PassContext& context) {
  const LiveBytes bytes(graph);
  const Before before = dependencies(graph);
  const Order given = given_order(graph);
  const std::int64_t peak = bytes.peak(given);
  const Order* best = &given;
  std::int64_t least = peak;
  std::vector<Order> tried = {by_bytes(bytes, before), as_late_as_needed(before)};
  for (const Order& order : {given, tried[0], tried[1]}) tried.push_back(begun_late(order, before));
  for (const Order& order : tried) {
    if (const std::int64_t other = bytes.peak(order); other < least) {
      least = other;
      best = &order;
    }
  }
  if (peak - least < std::max<std::int64_t>(1, peak / kMinGain)) return graph;
  constexpr std::size_t kMaxNames = 6;
  const std::vector<std::size_t> moved = moved_nodes(*best);
  std::vector<std::string> names;
  for (const std::size_t node : moved)
    if (names.size() < kMaxNames) names.push_back(name_of(graph.nodes[node]));
  if (moved.size() > kMaxNames) names.push_back(fmt::format("{} more", moved.size() - kMaxNames));
  context.why.decisions.push_back(
      {"order_for_memory", fmt::format("{} moved", fmt::join(names, ", ")),
       fmt::format("{} in use at once, {} in the order of the calls, at the sizes of the first call",
                   readable_bytes(least), readable_bytes(peak)),
       graph.nodes[moved.front()].site});
  std::vector<GraphNode> nodes;
  for (const std::size_t node : *best) nodes.push_back(std::move(graph.nodes[node]));
  graph.nodes = std::move(nodes);
  return graph;
}

}  // namespace pel::compiler
