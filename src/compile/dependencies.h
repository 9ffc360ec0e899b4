// Which calls of a graph must come before which.
#pragma once

#include <vector>

#include "compile/graph.h"

namespace pel::compiler {

// For each node, those that must run before it: producers of its arguments, consumers of values that it
// overwrites, the node before it that touched a storage with views that is written to, and for random numbers
// the node that drew before. Dependencies that follow from others may be left out.
std::vector<std::vector<std::size_t>> dependencies(const Graph& graph);

// Storages that are written to and whose versions are not values of their own: see name_versions.
std::vector<bool> unnamed_storages(const Graph& graph);

}  // namespace pel::compiler
