// What row kernels and elementwise calls compute together, as one kernel.
#pragma once

#include <string>

#include "compile/row_calls.h"

namespace pel::compiler {

// The code of a fused node.
LoopSource source_of(const Graph& graph, const GraphNode& fused, const std::vector<FusedCall>& calls);

// Why these calls, in their order, cannot be one row kernel that reads `inputs` and writes `outputs`; empty
// if they can.
std::string why_rows_cannot_fuse(const Graph& graph, const std::vector<ValueId>& inputs,
                                 const std::vector<ValueId>& outputs, const std::vector<FusedCall>& calls);

}  // namespace pel::compiler
