// The functional form of writes: what a storage holds after a write is another value.
#pragma once

#include "compile/explanation.h"
#include "compile/graph.h"

namespace pel::compiler {

// Where a storage has one value alone and no views, each write to it gives a value of its own, which later
// calls read: %5 = add_(%3, %4). Both lie in the same memory, so a value must be read before it is
// overwritten. Other storages stay as they are.
Graph name_versions(Graph graph, Explanation& why);

}  // namespace pel::compiler
