// Writes a compiled function: Compiled::save().
#include <algorithm>

#include "pellucid/compile.h"

#include "base/check.h"
#include "compile/effects.h"
#include "compile/fused_kernels.h"
#include "saved/signed_content.h"
#include "saved/weights.h"

namespace pel::saved {
namespace {

std::string_view name_of(InstructionSet isa) { return isa == InstructionSet::Avx2 ? "avx2" : "avx512"; }

void check_can_be_saved(const compiler::CompiledGraph& compiled) {
  PEL_CHECK(compiled.gradients.list.empty(), ValueError,
            "the function reads or sets gradients of leaves, which a file does not have; save a function "
            "without backward of its inputs or weights");
  for (const compiler::GraphValue& value : compiled.graph.values)
    PEL_CHECK(value.device.type == DeviceType::Cpu || value.device.type == DeviceType::Meta, ValueError,
              "functions on {} cannot be saved", to_string(value.device));
}

SavedGraph saved_graph(const compiler::CompiledGraph& compiled, WeightsToSave& weights) {
  const compiler::Graph& graph = compiled.graph;
  SavedGraph saved{.graph = graph,
                   .constants = {},
                   .code = {},
                   .guards = compiled.guards,
                   .modes = compiled.modes,
                   .why = compiled.why};
  const std::vector<bool> written = compiler::written_storages(graph);
  for (std::size_t i = 0; i < graph.constants.size(); ++i)
    saved.constants.push_back(
        weights.add(graph.constants[i], written[graph[graph.constant_values[i]].storage]));
  return saved;
}

// Compiles the loops of a graph for each instruction set.
std::vector<SavedCode> code_of(const compiler::Graph& graph, ArrayView<InstructionSet> isas,
                               std::vector<std::string>& codes) {
  compiler::GraphFacts facts;
  const compiler::FusedLoops loops = compiler::fused_loops(graph, facts);
  if (loops.sources.empty()) return {};
  const LoopFiles* const files = loop_files(loops.device.type);
  PEL_CHECK(files != nullptr && files->save != nullptr, ValueError,
            "this build of the library has no compiler, so it saves no kernels");
  PEL_CHECK(!isas.empty(), ValueError,
            "the function has fused kernels: SaveOptions::instruction_sets must name at least one");
  std::vector<SavedCode> saved;
  for (const InstructionSet isa : isas) {
    saved.push_back({std::string(name_of(isa)), static_cast<std::uint32_t>(codes.size())});
    codes.push_back(files->save(loops.sources, name_of(isa)));
  }
  return saved;
}

void save(const compiler::CompiledFunction& function, const std::string& path, const SaveOptions& options) {
  const auto graphs = function.graphs();
  PEL_CHECK(!graphs.empty(), ValueError,
            "the function has no graph yet: it is captured by its first call, so call it before save()");
  PlanFile plan;
  WeightsToSave weights;
  std::vector<std::string> codes;
  for (const auto& compiled : graphs) {
    check_can_be_saved(*compiled);
    plan.graphs.push_back(saved_graph(*compiled, weights));
    plan.graphs.back().code = code_of(compiled->graph, options.instruction_sets, codes);
  }
  // The plan comes first, then code in the order in which it was compiled.
  std::vector<Section> sections(1);
  for (const std::string& code : codes) sections.push_back({SectionKind::Code, code});
  for (SavedGraph& graph : plan.graphs)
    for (SavedCode& code : graph.code) ++code.section;
  std::vector<std::string_view> referred;
  plan.memories = weights.finish(options.weights, sections, referred, plan.graphs);
  const std::string bytes = to_bytes(plan);
  sections[0] = {SectionKind::Plan, bytes};
  std::string signature;
  if (options.signing_key) {
    signature = signature_section(sections, referred, *options.signing_key);
    sections.push_back({SectionKind::Signature, signature});
  }
  write_sections(path, sections);
}

}  // namespace
}  // namespace pel::saved

namespace pel::detail {

void CompiledTensors::save(const std::string& path, const SaveOptions& options, Site site) const {
  as_call("save", site, [&] { saved::save(*function_, path, options); });
}

}  // namespace pel::detail
