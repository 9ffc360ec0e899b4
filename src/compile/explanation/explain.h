// A compiled graph as a CompileExplanation has it.
#pragma once

#include "pellucid/compile_explanation.h"

#include "compile/compiled_function.h"

namespace pel::compiler {

// With the kernels and bytes of a plan of it, which was made for these values of its symbols. Without inputs
// nothing is known of weights that are inputs.
CompileExplanation::Graph explain(const CompiledGraph& compiled, const Plan& plan,
                                  const std::vector<std::int64_t>& symbols, ArrayView<Tensor> inputs = {});

}  // namespace pel::compiler
