#pragma once

#include "compile/pass.h"

namespace pel::compiler {

// Before: calls in the order in which the function made them. After: in an order with a lower memory peak at
// the sizes of the captured call, if one is found. Runs last, when it is known which values are in memory.
Graph order_for_memory(Graph graph, PassContext& context);

}  // namespace pel::compiler
