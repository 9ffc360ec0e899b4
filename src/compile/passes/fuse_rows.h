// Row reductions and elementwise calls over the same rows become one kernel.
#pragma once

#include "compile/pass.h"

namespace pel::compiler {

// Runs after fuse_pointwise. The order of additions stays the same, and so do the bits.
Graph fuse_rows(Graph graph, PassContext& context);

}  // namespace pel::compiler
