// The text of a graph, back as a graph: for tests that are easier to read than to build.
#pragma once

#include <string_view>

#include "compile/graph.h"

namespace pel::compiler {

// What to_string gives. Constants have no tensors and nodes no places. A ValueError says what is expected,
// and where.
Graph parse_graph(std::string_view text);

}  // namespace pel::compiler
