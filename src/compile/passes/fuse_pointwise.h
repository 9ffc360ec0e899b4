// Several loops over the same elements become one, so that what is between them need not go to memory.
#pragma once

#include "compile/pass.h"

namespace pel::compiler {

// A call is fused with the calls whose results it reads, and with calls that read what it reads, where all
// are loops over the same sizes. Sizes of the captured call play no part. A loop alone stays the call that it
// is, with the kernel that it has without compile.
Graph fuse_pointwise(Graph graph, PassContext& context);

}  // namespace pel::compiler
