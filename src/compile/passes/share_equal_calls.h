#pragma once

#include "compile/explanation.h"
#include "compile/graph.h"

namespace pel::compiler {

// Before: the function may compute one thing twice. After: a later call with the same op and arguments is
// gone, and its readers read the earlier one's result. Left alone is what has an effect, what reads or shows
// memory that is written to, and what the function gives back: outputs stay tensors of their own.
Graph share_equal_calls(Graph graph, Explanation& why);

}  // namespace pel::compiler
