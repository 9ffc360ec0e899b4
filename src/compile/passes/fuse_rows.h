// Loops over elements and kernels over rows that go over the same rows become one kernel.
#pragma once

#include "compile/pass.h"

namespace pel::compiler {

// After fuse_pointwise. Sums keep their order, so the bits are the same.
Graph fuse_rows(Graph graph, PassContext& context);

}  // namespace pel::compiler
