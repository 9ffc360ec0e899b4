// The passes over a captured graph, in their order.
#pragma once

#include "compile/explanation.h"
#include "compile/graph.h"

namespace pel::compiler {

struct PassOptions {
  std::int64_t memory_budget_bytes = 0;  // see recompute; 0: none
};

// Runs all passes, each on a graph that verifies and gives one. PELLUCID_LOG=passes prints the graph after
// each, and its time.
Graph run_passes(Graph graph, Explanation& why, const PassOptions& options = {});

}  // namespace pel::compiler
