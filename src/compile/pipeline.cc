#include "compile/pipeline.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/check.h"
#include "base/environment.h"
#include "compile/node_content.h"
#include "compile/passes/fold_constants.h"
#include "compile/passes/fuse_gemm.h"
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
  Graph (*run)(Graph graph, PassContext& context);
};
constexpr Pass kPasses[] = {
    {"share_equal_calls", share_equal_calls},
    {"fold_constants", fold_constants},
    {"name_versions", name_versions},
    // After passes that leave calls without consumers, and after writes have names.
    {"remove_dead_code", remove_dead_code},
    {"move_views_up", move_views_up},
    {"recompute", recompute},            // fusion joins its copies with their consumers
    {"fuse_pointwise", fuse_pointwise},  // from here on passes see fused nodes
    {"fuse_gemm", fuse_gemm},  // before fuse_rows: what a matmul takes is not written to memory before
    {"fuse_rows", fuse_rows},
    {"order_for_memory", order_for_memory},
};

}  // namespace

std::string Explanation::text() const {
  std::string lines;
  for (const Decision& d : decisions) {
    lines += fmt::format("{}: {}: {}", d.pass, d.what, d.reason);
    if (const std::string at = d.site.text(); !at.empty()) lines += "  # " + at;
    lines += '\n';
  }
  return lines;
}

std::vector<std::string> pass_names() {
  std::vector<std::string> names;
  for (const Pass& pass : kPasses) names.emplace_back(pass.name);
  return names;
}

std::vector<std::string> passes_off(std::string_view list) {
  std::vector<std::string> names;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    const std::string_view entry = list.substr(0, end);
    list.remove_prefix(std::min(end + 1, list.size()));
    if (entry.empty()) continue;
    const std::vector<std::string> known = pass_names();
    PEL_CHECK(entry.starts_with('-') && std::ranges::find(known, entry.substr(1)) != known.end(), ValueError,
              "PELLUCID_PASSES: '{}' does not turn a pass off; write a minus and a name of {}", entry,
              fmt::join(known, ", "));
    names.emplace_back(entry.substr(1));
  }
  return names;
}

Graph run_passes(Graph graph, GraphFacts& facts, Explanation& why, const PassOptions& options) {
  static const bool logs = log_wants("passes");
  const char* const list = std::getenv("PELLUCID_PASSES");
  const std::vector<std::string> off = passes_off(list == nullptr ? "" : list);
  PassContext context{facts, why, options};
  for (const Pass& pass : kPasses) {
    const auto is_it = [&](const std::string& name) { return name == pass.name; };
    if (std::ranges::any_of(off, is_it) || std::ranges::any_of(options.off, is_it)) continue;
    const auto begin = std::chrono::steady_clock::now();
    graph = pass.run(std::move(graph), context);
    verify(graph);
    if (!logs) continue;
    const std::chrono::duration<double, std::micro> taken = std::chrono::steady_clock::now() - begin;
    log_line("passes", fmt::format("{}, {:.0f} µs:\n{}", pass.name, taken.count(), to_string(graph)));
  }
  graph.alike = alike_nodes(graph);
  return graph;
}

}  // namespace pel::compiler
