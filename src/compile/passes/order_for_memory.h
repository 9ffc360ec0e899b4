#pragma once

#include "compile/explanation.h"
#include "compile/graph.h"

namespace pel::compiler {

// Before: calls in the order in which the function made them. After: in one that has less in use at once, at
// the sizes of the captured call, where one is found. Runs last, when it is known what is written to memory.
Graph order_for_memory(Graph graph, Explanation& why);

}  // namespace pel::compiler
