#include "compile/fused_kernels.h"

#include <algorithm>

#include "base/check.h"
#include "compile/gemm_calls.h"
#include "compile/row_loops.h"

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

CompiledLoops compile_fused(const Graph& graph, GraphFacts& facts) {
  std::vector<LoopSource> sources;
  std::vector<std::vector<LoopPart>> parts;
  std::vector<std::uint64_t> overwritten;
  std::optional<Device> device;
  for (const GraphNode& node : graph.nodes) {
    if (!node.is_fused()) continue;
    const Device own = graph[std::get<ValueId>(node.results[0])].device;
    PEL_CHECK(!device || *device == own, InternalError, "{}: fused nodes are on one device", node.name);
    device = own;
    std::vector<FusedCall> calls;
    std::vector<LoopPart>& of_node = parts.emplace_back();
    for (const GraphNode& inner : node.body) {
      const std::vector<LoopPart>& own_parts = facts.of(graph, inner).parts;
      of_node.insert(of_node.end(), own_parts.begin(), own_parts.end());
      if (node.kind == NodeKind::FusedGemm) continue;
      std::optional<FusedCall> call = facts.fused_call(graph, inner);
      PEL_CHECK(call, InternalError, "{}: {} cannot be fused", node.name, inner.label());
      calls.push_back(*std::move(call));
    }
    sources.push_back(node.kind == NodeKind::FusedGemm ? gemm_source(graph, node, facts)
                                                       : source_of(graph, node, calls));
    overwritten.push_back(overwrites_of(sources.back()));
  }
  if (sources.empty()) return {};
  CompiledLoops loops = loop_compiler(device->type)(sources);
  loops.parts = std::move(parts);
  loops.overwrites = std::move(overwritten);
  return loops;
}

}  // namespace pel::compiler
