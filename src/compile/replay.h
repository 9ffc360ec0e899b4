// Runs a graph op by op, as the function would: what every faster way of running it is held against.
#pragma once

#include "compile/graph.h"

namespace pel::compiler {

// `symbols` are those that the guards have given for these inputs.
std::vector<Tensor> replay(const Graph& graph, ArrayView<Tensor> inputs,
                           const std::vector<std::int64_t>& symbols);

}  // namespace pel::compiler
