#pragma once

#include "compile/pass.h"

namespace pel::compiler {

// Before: the function may compute one thing twice. After: a later call with the same op and arguments is
// gone, and its consumers use the earlier result. Calls with side effects, calls that read or view memory
// that is written to, and results of the function stay as they are: outputs are tensors of their own.
Graph share_equal_calls(Graph graph, PassContext& context);

}  // namespace pel::compiler
