// A view of what a loop gives becomes the loop over views, so that no view stands between two loops.
#pragma once

#include "compile/explanation.h"
#include "compile/graph.h"

namespace pel::compiler {

// relu(t(add(a, b))) becomes relu(add(t(a), t(b))), where nothing else reads the sum. Only views that choose
// or order axes, and only where the layout of the result stays what it was.
Graph move_views_up(Graph graph, Explanation& why);

}  // namespace pel::compiler
