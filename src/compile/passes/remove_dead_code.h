#pragma once

#include "compile/pass.h"

namespace pel::compiler {

// Before: every call that the function made. After: those whose results are consumed, or that write or draw
// random numbers. Runs last among the passes that leave calls without consumers.
Graph remove_dead_code(Graph graph, PassContext& context);

}  // namespace pel::compiler
