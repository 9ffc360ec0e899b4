// The kernels of a graph's fused nodes.
#pragma once

#include "compile/graph_facts.h"
#include "dispatch/loop_compiler.h"

namespace pel::compiler {

// Compiles them, in the order of the nodes.
CompiledLoops compile_fused(const Graph& graph, GraphFacts& facts);

}  // namespace pel::compiler
