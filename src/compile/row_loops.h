// What calls over rows and loops over elements compute together, as one kernel.
#pragma once

#include <string>

#include "compile/row_calls.h"

namespace pel::compiler {

// The code of a fused node.
LoopSource source_of(const Graph& graph, const GraphNode& fused, const std::vector<FusedCall>& calls);

// One kernel for calls in their order, over `inputs`, which gives `outputs`.
struct FusedRows {
  std::optional<RowLoops> loops;
  std::string reason;  // why there is none
};
FusedRows fuse_row_calls(const Graph& graph, const std::vector<ValueId>& inputs,
                         const std::vector<ValueId>& outputs, const std::vector<FusedCall>& calls);

}  // namespace pel::compiler
