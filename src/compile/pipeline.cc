#include "compile/pipeline.h"

#include <chrono>

#include <fmt/format.h>

#include "base/environment.h"
#include "base/place.h"
#include "compile/passes/fold_constants.h"
#include "compile/passes/fuse_pointwise.h"
#include "compile/passes/move_views_up.h"
#include "compile/passes/name_versions.h"
#include "compile/passes/remove_dead_code.h"
#include "compile/passes/share_equal_calls.h"

namespace pel::compiler {
namespace {

struct Pass {
  const char* name;
  Graph (*run)(Graph graph, Explanation& why);
};
constexpr Pass kPasses[] = {
    {"share_equal_calls", share_equal_calls},
    {"fold_constants", fold_constants},
    {"name_versions", name_versions},
    {"remove_dead_code", remove_dead_code},  // after what leaves calls without readers, and names writes
    {"move_views_up", move_views_up},
    {"fuse_pointwise", fuse_pointwise},  // the last: other passes see calls
};

}  // namespace

std::string Explanation::text() const {
  std::string lines;
  for (const Decision& d : decisions) {
    lines += fmt::format("{}: {}: {}", d.pass, d.what, d.reason);
    if (d.site.line() != 0) lines += "  # " + short_place(d.site);
    lines += '\n';
  }
  return lines;
}

Graph run_passes(Graph graph, Explanation& why) {
  static const bool logs = log_wants("passes");
  for (const Pass& pass : kPasses) {
    const auto begin = std::chrono::steady_clock::now();
    graph = pass.run(std::move(graph), why);
    verify(graph);
    if (!logs) continue;
    const std::chrono::duration<double, std::micro> taken = std::chrono::steady_clock::now() - begin;
    log_line("passes", fmt::format("{}, {:.0f} µs:\n{}", pass.name, taken.count(), to_string(graph)));
  }
  return graph;
}

}  // namespace pel::compiler
