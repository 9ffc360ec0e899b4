// The passes over a captured graph, in their order.
#pragma once

#include <string>
#include <vector>

#include "compile/pass.h"

namespace pel::compiler {

// Runs all passes that are on, and verifies the graph after each. PELLUCID_LOG=passes prints the graph after
// each, and its time. PELLUCID_PASSES=-fuse_rows,-recompute turns passes off: results have the same bits
// without them.
Graph run_passes(Graph graph, GraphFacts& facts, Explanation& why, const PassOptions& options = {});

std::vector<std::string> pass_names();
// The names in `list`, as PELLUCID_PASSES has them. Throws ValueError with the names of all passes for a name
// that is none of theirs, and for an entry without a minus.
std::vector<std::string> passes_off(std::string_view list);

}  // namespace pel::compiler
