// What every pass over a graph is called with.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compile/explanation.h"
#include "compile/graph.h"
#include "compile/graph_facts.h"

namespace pel::compiler {

struct PassOptions {
  std::int64_t memory_budget_bytes = 0;  // see recompute; 0: none
  std::vector<std::string> off{};        // names of passes that do not run
};

// A pass takes a graph that verifies and returns one that computes the same.
struct PassContext {
  GraphFacts& facts;
  Explanation& why;
  const PassOptions& options;
};

}  // namespace pel::compiler
