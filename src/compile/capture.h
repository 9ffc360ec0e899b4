// Runs a function once with tensors that have symbolic sizes and no data, and keeps the ops that it calls.
#pragma once

#include <functional>

#include "compile/graph.h"
#include "compile/guards.h"

namespace pel::compiler {

using TensorFunction = std::function<std::vector<Tensor>(ArrayView<Tensor> inputs)>;

struct Captured {
  Graph graph;
  Guards guards;
  LeafGradients gradients;
};

// `inputs` say ranks, dtypes, layouts and the answers to what is compared; their data is not read. Tensors
// that the function holds itself become constants, read again at each run. What it computes on the host is
// frozen. A CaptureError names the call that a graph cannot hold. Gradients of leaves that it reads are
// inputs behind its own, those that it leaves behind are outputs; it changes none while it is captured.
Captured capture(const TensorFunction& f, ArrayView<Tensor> inputs);

bool is_capturing();  // on this thread

void register_capture();  // puts the recording on the Capture key

}  // namespace pel::compiler
