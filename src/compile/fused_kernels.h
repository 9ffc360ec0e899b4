// The kernels of a graph's fused nodes.
#pragma once

#include "compile/graph_facts.h"
#include "dispatch/loop_compiler.h"

namespace pel::compiler {

// The loops of the fused nodes, in the order of the nodes, before they are compiled.
struct FusedLoops {
  Device device;
  std::vector<LoopSource> sources;
  std::vector<std::vector<LoopPart>> parts;
  std::vector<std::uint64_t> overwrites;
};
FusedLoops fused_loops(const Graph& graph, GraphFacts& facts);

// Adds to what a backend has compiled or loaded what a plan needs to know of the nodes.
CompiledLoops with_facts(CompiledLoops compiled, FusedLoops loops);

CompiledLoops compile_fused(const Graph& graph, GraphFacts& facts);

}  // namespace pel::compiler
