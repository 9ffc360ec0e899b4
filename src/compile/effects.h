// What a call does beside giving its results: passes may move or drop only what does nothing else.
#pragma once

#include <vector>

#include "compile/graph.h"

namespace pel::compile {

bool writes(const GraphNode& node);        // to one of its arguments
bool draws_random(const GraphNode& node);  // and so moves the counter on

// For each storage, whether some call of the graph writes to it.
std::vector<bool> written_storages(const Graph& graph);

}  // namespace pel::compile
