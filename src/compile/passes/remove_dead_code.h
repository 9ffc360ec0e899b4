#pragma once

#include "compile/explanation.h"
#include "compile/graph.h"

namespace pel::compiler {

// Before: every call that the function made. After: those whose results are read, or that write or draw
// random numbers. Runs last among the passes that leave calls without readers.
Graph remove_dead_code(Graph graph, Explanation& why);

}  // namespace pel::compiler
