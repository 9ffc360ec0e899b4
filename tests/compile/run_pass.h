// One pass over a graph, as tests call it.
#pragma once

#include <string>

#include "compile/parse_graph.h"
#include "compile/pass.h"

namespace pel::test {

using Pass = compiler::Graph (*)(compiler::Graph, compiler::PassContext&);

struct Passed {
  compiler::Graph graph;
  std::string text, why;  // of the graph, and of the decisions
};

// Verifies the graph that the pass returns.
inline Passed run_pass(Pass pass, compiler::Graph graph, const compiler::PassOptions& options = {}) {
  compiler::GraphFacts facts;
  compiler::Explanation why;
  compiler::PassContext context{facts, why, options};
  graph = pass(std::move(graph), context);
  verify(graph);
  std::string text = to_string(graph);
  return {std::move(graph), std::move(text), why.text()};
}
inline Passed run_pass(Pass pass, const char* text, const compiler::PassOptions& options = {}) {
  return run_pass(pass, parse_graph(text), options);
}

}  // namespace pel::test
