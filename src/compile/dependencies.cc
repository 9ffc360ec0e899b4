#include "compile/dependencies.h"

#include <algorithm>
#include <optional>

#include "compile/effects.h"
#include "dispatch/record.h"

namespace pel::compiler {

std::vector<bool> unnamed_storages(const Graph& graph) {
  std::vector<bool> unnamed(written_storages(graph).size());
  for (const GraphNode& node : graph.nodes) {
    for (const ValueId id : written_values(node))
      if (!is_named(graph, node, id)) unnamed[graph[id].storage] = true;
  }
  return unnamed;
}

std::vector<std::vector<std::size_t>> dependencies(const Graph& graph) {
  const std::vector<bool> unnamed = unnamed_storages(graph);
  std::vector<std::vector<std::size_t>> before(graph.nodes.size());
  std::vector<std::optional<std::size_t>> producer(graph.values.size()), last_touch(unnamed.size());
  std::vector<std::vector<std::size_t>> consumers(graph.values.size());
  std::optional<std::size_t> last_random, last_communication;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const GraphNode& node = graph.nodes[i];
    const auto after = [&](std::optional<std::size_t> earlier) {
      if (earlier && *earlier != i) before[i].push_back(*earlier);
    };
    std::vector<std::uint32_t> touched;
    const auto touch = [&](ValueId id) {
      if (unnamed[graph[id].storage]) touched.push_back(graph[id].storage);
    };
    for (const GraphArg& arg : node.args) {
      for_values(arg, [&](ValueId id) {
        after(producer[id.number]);
        touch(id);
      });
    }
    for (const ValueId id : written_values(node))
      for (const std::size_t consumer : consumers[id.number]) after(consumer);
    for (const GraphArg& arg : node.args)
      for_values(arg, [&](ValueId id) { consumers[id.number].push_back(i); });
    for (const GraphArg& result : node.results) {
      for_values(result, [&](ValueId id) {
        if (!producer[id.number]) producer[id.number] = i;
        touch(id);
      });
    }
    for (const std::uint32_t storage : touched) {
      after(last_touch[storage]);
      last_touch[storage] = i;
    }
    if (draws_random(node)) {
      after(last_random);
      last_random = i;
    }
    if (communicates(node)) {
      after(last_communication);
      last_communication = i;
    }
    std::sort(before[i].begin(), before[i].end());
    before[i].erase(std::unique(before[i].begin(), before[i].end()), before[i].end());
  }
  return before;
}

}  // namespace pel::compiler
