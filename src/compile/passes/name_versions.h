// The functional form of writes: what a storage holds after a write is another value.
#pragma once

#include "compile/pass.h"

namespace pel::compiler {

// If a storage has one value and no views, each write to it produces a value of its own, which later calls
// read: %5 = add_(%3, %4). Both lie in the same memory, so a value must be read before it is overwritten.
// Other storages stay as they are.
Graph name_versions(Graph graph, PassContext& context);

}  // namespace pel::compiler
