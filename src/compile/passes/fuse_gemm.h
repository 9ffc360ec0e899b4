// Elementwise calls over the result of a matmul are computed from its sums, which are not written to memory.
#pragma once

#include "compile/pass.h"

namespace pel::compiler {

// A matmul takes the elementwise node that is the only consumer of its result, directly or through views that
// keep its columns. Of several matmuls whose results meet in one node, the last takes it.
Graph fuse_gemm(Graph graph, PassContext& context);

}  // namespace pel::compiler
