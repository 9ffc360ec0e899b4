#include "compile/fused_kernels.h"

#include <algorithm>

#include "base/check.h"
#include "compile/gemm_calls.h"
#include "compile/row_loops.h"
#include "device/registry.h"

namespace pel::compiler {
namespace {

// Outputs of the kernel that may overwrite an input, a bit each.
std::uint64_t overwrites_of(const LoopSource& source) {
  if (source.gemm) return 0;  // it reads its factors until the end
  if (!source.rows) return kAnyOutput;
  // Rows that are written between reductions are written before all is read.
  const bool writes_early = std::ranges::any_of(
      source.rows->stages, [](const RowLoops::Stage& stage) { return stage.output >= 0; });
  return writes_early ? 0 : overwrites(source.rows->outputs);
}

}  // namespace

FusedLoops fused_loops(const Graph& graph, GraphFacts& facts) {
  FusedLoops loops;
  for (const GraphNode& node : graph.nodes) {
    if (!node.is_fused()) continue;
    const Device own = graph[std::get<ValueId>(node.results[0])].device;
    PEL_CHECK(loops.sources.empty() || loops.device == own, InternalError,
              "{}: fused nodes are on one device", node.name);
    loops.device = own;
    std::vector<FusedCall> calls;
    std::vector<LoopPart>& of_node = loops.parts.emplace_back();
    for (const GraphNode& inner : node.body) {
      const std::vector<LoopPart>& own_parts = facts.of(graph, inner).parts;
      of_node.insert(of_node.end(), own_parts.begin(), own_parts.end());
      if (node.kind == NodeKind::FusedGemm) continue;
      std::optional<FusedCall> call = facts.fused_call(graph, inner);
      PEL_CHECK(call, InternalError, "{}: {} cannot be fused", node.name, inner.label());
      calls.push_back(*std::move(call));
    }
    loops.sources.push_back(node.kind == NodeKind::FusedGemm ? gemm_source(graph, node, facts)
                                                             : source_of(graph, node, calls));
    loops.overwrites.push_back(overwrites_of(loops.sources.back()));
  }
  return loops;
}

CompiledLoops with_facts(CompiledLoops compiled, FusedLoops loops) {
  compiled.parts = std::move(loops.parts);
  compiled.overwrites = std::move(loops.overwrites);
  return compiled;
}

CompiledLoops compile_fused(const Graph& graph, GraphFacts& facts) {
  FusedLoops loops = fused_loops(graph, facts);
  if (loops.sources.empty()) return {};
  CompiledLoops compiled = loop_compiler(kernels_of(loops.device))(loops.sources);
  return with_facts(std::move(compiled), std::move(loops));
}

}  // namespace pel::compiler
