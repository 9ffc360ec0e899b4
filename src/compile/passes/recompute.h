#pragma once

#include "compile/explanation.h"
#include "compile/graph.h"

namespace pel::compiler {

// Before: a value that is read again long after it was made, as the forward half of a training step is by the
// backward half, lies in memory until then. After: where it is cheap to make again from what lies there
// anyway, it is, just before it is read.
//
// Without a budget, what fusion makes free: loops over elements read the value, so that neither it nor its
// copy is written, and no more bytes are read than before. And what is in use at the peak, where a loop that
// reads the same later makes it beside its own results, if that makes the peak less. With a budget, in bytes,
// also what kernels of their own compute again, until the graph stays below it at the sizes of the captured
// call.
// Runs before fuse_pointwise, which joins the copies with their readers.
Graph recompute(Graph graph, Explanation& why, std::int64_t budget_bytes = 0);

}  // namespace pel::compiler
