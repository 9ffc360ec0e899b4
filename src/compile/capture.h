// Runs a function once with tensors that have symbolic sizes and no data, and records the ops that it calls.
#pragma once

#include <functional>

#include "pellucid/compile_ahead.h"

#include "compile/graph.h"
#include "compile/guards.h"

namespace pel::compiler {

using TensorFunction = std::function<std::vector<Tensor>(ArrayView<Tensor> inputs)>;

struct Captured {
  Graph graph;
  Guards guards;
  LeafGradients gradients;
};

// `inputs` determine ranks, dtypes, layouts and the results of comparisons; their data is not read. Tensors
// that the function captures by reference become constants, read again at each run. Host code is not run
// again. A CaptureError names a call that cannot be part of a graph. Gradients of leaves that the function
// reads are inputs after its own, and gradients that it sets are outputs; the capture itself changes no
// gradient.
Captured capture(const TensorFunction& f, ArrayView<Tensor> inputs);

// The same for inputs that are described, and numbers that are symbols of the graph.
Captured capture(const std::vector<CallNumber>& numbers, const CompiledAhead::Describe& describe,
                 const CompiledAhead::Body& body);

bool is_capturing();  // on this thread

void register_capture();  // puts the recording on the Capture key

}  // namespace pel::compiler
