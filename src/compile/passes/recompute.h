#pragma once

#include "compile/pass.h"

namespace pel::compiler {

// Before: a value that is consumed long after it was produced, as the backward half of a training step
// consumes values of the forward half, stays in memory until then. After: if it is cheap to compute again
// from values that are in memory anyway, it is recomputed just before it is consumed.
//
// Without a budget, copies that fusion makes free: elementwise loops consume the value, so that neither it
// nor its copy is written, and no more bytes are read than before. And values in use at the peak that a later
// loop, which reads the same, computes with its own results, if that lowers the peak. With a budget
// (PassOptions::memory_budget_bytes), also copies that kernels of their own compute, until the graph stays
// below it at the sizes of the captured call. Runs before fuse_pointwise, which fuses the copies with their
// consumers.
Graph recompute(Graph graph, PassContext& context);

}  // namespace pel::compiler
