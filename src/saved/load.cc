// Reads a compiled function: load_compiled().
#include <deque>
#include <filesystem>

#include "pellucid/load_compiled.h"

#include "base/check.h"
#include "compile/fused_kernels.h"
#include "compile/node_content.h"
#include "saved/signed_content.h"
#include "saved/weights.h"

namespace pel::saved {
namespace {

CompiledLoops load_loops(const compiler::Graph& graph, ArrayView<SavedCode> code,
                         ArrayView<Section> sections) {
  compiler::GraphFacts facts;
  compiler::FusedLoops loops = compiler::fused_loops(graph, facts);
  if (loops.sources.empty()) return {};
  std::vector<SavedLoops> saved;
  for (const SavedCode& each : code) {
    PEL_CHECK(each.section < sections.size() && sections[each.section].kind == SectionKind::Code, FileError,
              "its kernels for {} are in a section that it lacks", each.isa);
    saved.push_back({each.isa, sections[each.section].bytes});
  }
  const LoopFiles* const files = loop_files(loops.device.type);
  PEL_CHECK(files != nullptr, FileError, "it has kernels for {}", to_string(loops.device));
  CompiledLoops loaded = files->load(loops.sources, saved);
  return with_facts(std::move(loaded), std::move(loops));
}

std::vector<std::shared_ptr<const compiler::CompiledGraph>> load_graphs(const io::FileBytes& file,
                                                                        const LoadOptions& options) {
  const CheckWeights check = options.checks_weights ? CheckWeights::Yes : CheckWeights::No;
  std::vector<Section> sections = read_sections(file.bytes, check);
  // What is checked must be what is loaded, even if somebody writes to the file meanwhile.
  std::deque<std::string> copies;
  if (!options.trusted_keys.empty()) {
    for (Section& section : sections)
      if (section.kind != SectionKind::Weights) section.bytes = copies.emplace_back(section.bytes);
  }
  PEL_CHECK(!sections.empty() && sections[0].kind == SectionKind::Plan, FileError,
            "it does not begin with a plan");
  PlanFile plan = plan_from(sections[0].bytes);
  std::string folder = options.weights_folder;
  if (folder.empty()) folder = std::filesystem::path(file.name).parent_path().string();
  const LoadedWeights weights(file, sections, plan.memories, folder, check);
  if (!options.trusted_keys.empty()) check_signature(sections, weights.referred(), options.trusted_keys);

  std::vector<std::shared_ptr<const compiler::CompiledGraph>> graphs;
  for (SavedGraph& saved : plan.graphs) {
    auto made = std::make_shared<compiler::CompiledGraph>();
    made->graph = std::move(saved.graph);
    for (const SavedConstant& constant : saved.constants)
      made->graph.constants.push_back(weights.constant(constant));
    verify(made->graph);
    made->graph.alike = alike_nodes(made->graph);
    made->guards = std::move(saved.guards);
    made->modes = saved.modes;
    made->is_of_file = true;
    made->why = std::move(saved.why);
    made->loops = load_loops(made->graph, saved.code, sections);
    graphs.push_back(std::move(made));
  }
  return graphs;
}

std::shared_ptr<compiler::CompiledFunction> load(const std::string& path, const LoadOptions& options) {
  const io::FileBytes file = io::map_file(path);
  try {
    return std::make_shared<compiler::CompiledFunction>(load_graphs(file, options), path);
  } catch (const MemoryError&) {
    throw;
  } catch (const Error& error) {
    throw FileError(fmt::format("{}: {}", path, error.message()));
  }
}

}  // namespace
}  // namespace pel::saved

namespace pel {

LoadedFunction load_compiled(const std::string& path, const LoadOptions& options, Site site) {
  return as_call("load_compiled", site, [&] { return LoadedFunction(saved::load(path, options)); });
}

std::vector<Tensor> LoadedFunction::checked(std::vector<Tensor> results, std::size_t count) {
  constexpr std::size_t kAny = ~std::size_t{0};
  PEL_CHECK(count == kAny || results.size() == count, ValueError,
            "the function returns {} tensors, and call() expects {}", results.size(), count);
  return results;
}

}  // namespace pel
