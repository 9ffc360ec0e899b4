// Which calls of a graph must come before which.
#pragma once

#include <vector>

#include "compile/graph.h"

namespace pel::compiler {

// For each node, those that must run before it, without those that follow from others: who makes what it
// reads, who reads what it overwrites, what touched a storage before that it shares with views, and for
// random numbers the one that drew before.
std::vector<std::vector<std::size_t>> dependencies(const Graph& graph);

// Storages that are written and whose versions have no names of their own: see name_versions.
std::vector<bool> unnamed_storages(const Graph& graph);

}  // namespace pel::compiler
