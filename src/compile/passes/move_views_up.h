// A view of an elementwise result becomes an elementwise call over views, so that no view separates two calls
// that could be fused.
#pragma once

#include "compile/pass.h"

namespace pel::compiler {

// relu(t(add(a, b))) becomes relu(add(t(a), t(b))), if nothing else consumes the sum. Only views that select
// or permute axes, and only if the layout of the result does not change.
Graph move_views_up(Graph graph, PassContext& context);

}  // namespace pel::compiler
