// What the launches of a node depend on, as words that compare and hash.
#pragma once

#include <cstdint>
#include <vector>

#include "compile/graph.h"

namespace pel::compiler {

using ContentWords = std::vector<std::uint64_t>;
struct ContentHash {
  std::size_t operator()(const ContentWords& words) const;
};

// The op, its arguments, and for each value dtype, device, sizes, strides and which arguments are the same
// value; of a fused node, those of all its calls. Sizes are interned expressions, so that equal words are
// equal at any sizes. The values themselves are numbered in the order in which they occur.
ContentWords node_content(const Graph& graph, const GraphNode& node);

// For each node the first one of the graph with the same content, which may be the node itself: the layers of
// a model are alike.
std::vector<std::uint32_t> alike_nodes(const Graph& graph);

}  // namespace pel::compiler
