#include "compile/pipeline.h"

#include <chrono>

#include <fmt/format.h>

#include "base/environment.h"
#include "base/source_location.h"
#include "compile/passes/fold_constants.h"
#include "compile/passes/fuse_pointwise.h"
#include "compile/passes/fuse_rows.h"
#include "compile/passes/move_views_up.h"
#include "compile/passes/name_versions.h"
#include "compile/passes/order_for_memory.h"
#include "compile/passes/recompute.h"
#include "compile/passes/remove_dead_code.h"
#include "compile/passes/share_equal_calls.h"

namespace pel::compiler {
namespace {

struct Pass {
  const char* name;
  Graph (*run)(Graph graph, Explanation& why, const PassOptions& options);
};
template <Graph (*kPass)(Graph, Explanation&)>
Graph without_options(Graph graph, Explanation& why, const PassOptions&) {
  return kPass(std::move(graph), why);
}
Graph recompute_within(Graph graph, Explanation& why, const PassOptions& options) {
  return recompute(std::move(graph), why, options.memory_budget_bytes);
}
constexpr Pass kPasses[] = {
    {"share_equal_calls", without_options<share_equal_calls>},
    {"fold_constants", without_options<fold_constants>},
    {"name_versions", without_options<name_versions>},
    // After what leaves calls without readers, and names writes.
    {"remove_dead_code", without_options<remove_dead_code>},
    {"move_views_up", without_options<move_views_up>},
    {"recompute", recompute_within},                      // its copies are joined by fusion
    {"fuse_pointwise", without_options<fuse_pointwise>},  // from here on passes see fused nodes
    {"fuse_rows", without_options<fuse_rows>},
    {"order_for_memory", without_options<order_for_memory>},
};

}  // namespace

std::string Explanation::text() const {
  std::string lines;
  for (const Decision& d : decisions) {
    lines += fmt::format("{}: {}: {}", d.pass, d.what, d.reason);
    if (d.site.line() != 0) lines += "  # " + short_location(d.site);
    lines += '\n';
  }
  return lines;
}

Graph run_passes(Graph graph, Explanation& why, const PassOptions& options) {
  static const bool logs = log_wants("passes");
  for (const Pass& pass : kPasses) {
    const auto begin = std::chrono::steady_clock::now();
    graph = pass.run(std::move(graph), why, options);
    verify(graph);
    if (!logs) continue;
    const std::chrono::duration<double, std::micro> taken = std::chrono::steady_clock::now() - begin;
    log_line("passes", fmt::format("{}, {:.0f} µs:\n{}", pass.name, taken.count(), to_string(graph)));
  }
  return graph;
}

}  // namespace pel::compiler
