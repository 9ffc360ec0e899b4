// A function with its captured graphs, one for each class of inputs, and their plans, one for each tuple of
// sizes.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

#include "compile/capture.h"
#include "compile/explanation.h"
#include "compile/packed_weights.h"
#include "compile/pipeline.h"
#include "compile/plan.h"

namespace pel::compiler {

// Verified: the function is captured again at each call, and a CaptureError names the first call that
// differs. Host code runs at capture only, and its decisions are frozen: this finds functions for which that
// is wrong.
enum class Replays : bool { Trusted, Verified };

struct CompiledGraph {
  Graph graph;  // after the passes
  Guards guards;
  LeafGradients gradients;
  std::int64_t modes = 0;  // of the thread and the process when it was captured, as one number
  Explanation why;
  CompiledLoops loops;  // kernels of its fused nodes
  std::unique_ptr<PackedWeights> weights = std::make_unique<PackedWeights>();
  std::string as_captured;  // its text before the passes, for Verified
  bool is_of_file = false;  // calls that it does not serve are not captured
};

inline constexpr std::size_t kMaxPlans = 256;  // of a function; then the oldest is dropped
std::int64_t call_modes();                     // of the thread and the process now, as one number
inline constexpr std::int64_t kGradientMode = std::int64_t{1} << 16;  // of call_modes: gradients are recorded
inline constexpr std::string_view kOtherModes =
    "autocast, determinism or whether gradients are recorded is set otherwise than at capture";
void log_recompile(std::string_view reason);  // PELLUCID_LOG=recompiles

// Captures, runs the passes and compiles the fused kernels.
std::shared_ptr<CompiledGraph> compile_captured(const std::function<Captured()>& capture, Replays replays,
                                                const PassOptions& options);

class CompiledFunction {
 public:
  explicit CompiledFunction(TensorFunction f, Replays replays = Replays::Trusted,
                            const PassOptions& options = {})
      : f_(std::move(f)), replays_(replays), options_(options) {}
  // Graphs of a file, whose name errors have. A call that none of them serves is a ValueError with the guards
  // of each.
  CompiledFunction(std::vector<std::shared_ptr<const CompiledGraph>> graphs, std::string file)
      : file_(std::move(file)), graphs_(std::move(graphs)) {}

  // Several threads may call it. The first call of a class captures; PELLUCID_LOG=recompiles says why no
  // graph serves yet. During another capture it is part of that.
  std::vector<Tensor> operator()(ArrayView<Tensor> inputs);

  std::size_t captures() const { return graphs().size(); }
  std::size_t plans() const;
  std::vector<std::shared_ptr<const CompiledGraph>> graphs() const;
  // The plan that serves these inputs; made if there is none yet.
  std::shared_ptr<const Plan> plan_for(ArrayView<Tensor> inputs);
  std::shared_ptr<const CompiledGraph> graph_for(ArrayView<Tensor> inputs);
  // The plan that was made at the sizes of the graph's first call; null if it has been dropped.
  std::shared_ptr<const Plan> first_plan_of(const CompiledGraph& graph) const;

 private:
  // A plan, and the exact inputs that it serves.
  struct Ready {
    std::shared_ptr<const CompiledGraph> graph;
    std::shared_ptr<const Plan> plan;
    std::vector<std::int64_t> signature, of_gradients;  // of inputs, and of gradients that the graph reads
  };
  std::shared_ptr<const Ready> find(ArrayView<Tensor> inputs);
  std::shared_ptr<const Ready> make(ArrayView<Tensor> inputs);
  std::shared_ptr<const Ready> ready_for(ArrayView<Tensor> inputs);  // found or made
  void check_again(const CompiledGraph& captured, ArrayView<Tensor> inputs) const;
  bool has_modes_of(const CompiledGraph& captured) const;
  [[noreturn]] void refuse(ArrayView<Tensor> inputs, ArrayView<std::string> reasons) const;

  TensorFunction f_;  // none: the graphs are those of a file
  Replays replays_ = Replays::Trusted;
  PassOptions options_;
  std::string file_;
  std::mutex making_;                // one thread captures and plans at a time
  mutable std::shared_mutex mutex_;  // of the lists alone: their elements do not change
  std::vector<std::shared_ptr<const CompiledGraph>> graphs_;
  std::vector<std::shared_ptr<const Ready>> ready_;  // the last one made is last
};

}  // namespace pel::compiler
