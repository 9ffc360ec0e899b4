// A function with the graphs that were captured of it: one for each class of inputs.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "compile/capture.h"
#include "compile/explanation.h"

namespace pel::compile {

// Verified: the function is captured again at each call, and a CaptureError names the first call that it now
// makes otherwise. Host code runs at capture alone, and what it decided is frozen: this finds where that is
// not what was meant.
enum class Replays : bool { Trusted, Verified };

struct CompiledGraph {
  Graph graph;  // after the passes
  Guards guards;
  Explanation why;
  std::string as_captured;  // its text before the passes, for Verified
};

class CompiledFunction {
 public:
  explicit CompiledFunction(TensorFunction f, Replays replays = Replays::Trusted)
      : f_(std::move(f)), replays_(replays) {}

  // Several threads may call it. The first call of a class captures; PELLUCID_LOG=recompiles says why the
  // graphs that are there do not serve.
  std::vector<Tensor> operator()(ArrayView<Tensor> inputs);

  std::size_t captures() const;
  std::vector<std::shared_ptr<const CompiledGraph>> graphs() const;

 private:
  void check_again(const CompiledGraph& captured, ArrayView<Tensor> inputs) const;
  TensorFunction f_;
  Replays replays_;
  mutable std::mutex mutex_;  // of the list alone: graphs do not change
  std::vector<std::shared_ptr<const CompiledGraph>> graphs_;
};

}  // namespace pel::compile
