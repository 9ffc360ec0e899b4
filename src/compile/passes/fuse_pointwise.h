// Elementwise calls over the same elements become one loop, so that values between them are not written to
// memory.
#pragma once

#include "compile/pass.h"

namespace pel::compiler {

// A call is fused with the producers of its arguments, and with other consumers of them, if all are
// elementwise and known to have the same sizes at every call. An elementwise call alone stays as it is, with
// its eager kernel.
Graph fuse_pointwise(Graph graph, PassContext& context);

}  // namespace pel::compiler
