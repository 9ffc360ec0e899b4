// Calls that depend on no input and no size are computed once, when the graph is compiled.
#pragma once

#include "compile/pass.h"

namespace pel::compiler {

// Calls such as arange(0, 64, 2), and calls on their results. Tensors that the function holds, such as
// weights, are not constants in this sense: they may change between calls.
Graph fold_constants(Graph graph, PassContext& context);

}  // namespace pel::compiler
