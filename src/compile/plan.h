// A graph at given sizes, ready to run: kernels in their order (plan_steps.h), and where their operands lie
// (memory_layout.h). A run decides nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "compile/data_flow.h"
#include "compile/graph.h"
#include "compile/memory_layout.h"
#include "compile/packed_weights.h"
#include "compile/plan_steps.h"
#include "compile/step_loops.h"
#include "device/ordered_device.h"
#include "dispatch/loop_compiler.h"

namespace pel::compiler {

// One launch of a plan.
struct PlannedKernel {
  std::string name;           // as the profiler has it
  std::uint32_t node = 0;     // of the graph
  bool is_whole_node = true;  // else one of several launches of a call, or of the calls of a fused node
  std::uint64_t bytes_read = 0, bytes_written = 0;
  std::string reason;  // why this kernel
  CompileExplanation::Threads threads;
  double predicted_ns = 0;  // 0: not known
};

class Plan {
 public:
  // `loops` are the kernels of the graph's fused nodes, in their order. They must live as long, and so must
  // `weights`, which packs those of the graph; if it is null, none is packed.
  Plan(const Graph& graph, const CompiledLoops& loops, const std::vector<std::int64_t>& symbols,
       PackedWeights* weights = nullptr);
  ~Plan();
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  // Several threads may run it at once. `after_last_use` is called with the number of each input that no
  // later step and no output uses.
  using AfterLastUse = std::function<void(std::size_t input)>;
  std::vector<Tensor> run(ArrayView<Tensor> inputs, const AfterLastUse& after_last_use = {}) const;

  // Names are those that the profiler has. They depend on what is packed, and so on the inputs, if known.
  std::vector<std::string> kernels(ArrayView<Tensor> inputs = {}) const;
  std::vector<PlannedKernel> planned_kernels(ArrayView<Tensor> inputs = {}) const;
  // Of the graph that the plan was made of. The steps are planned_kernels(); the plan must live as long.
  DataFlow data_flow(const Graph& graph) const { return compiler::data_flow(graph, plan_); }
  bool knows_threads() const { return loops_.known().has_value(); }  // of planned_kernels(), after a run
  const std::vector<std::int64_t>& symbols() const { return symbols_; }
  std::int64_t arena_bytes() const { return layout_.arena_bytes; }
  std::int64_t result_bytes() const { return layout_.result_bytes(); }  // of memory allocated for results
  // The largest number of bytes of the arena in use at one step: a lower bound of any arrangement.
  std::int64_t live_bytes() const { return layout_.live_bytes(); }
  // What a run adds to MemoryStats::data_bytes of its device at its peak. Only the CPU has small tensors that
  // it does not count.
  std::int64_t peak_bytes() const {
    return is_asynchronous(plan_.device) ? peak_bytes_of_all() : layout_.peak_bytes();
  }
  // The same with small tensors, which MemoryStats leaves out.
  std::int64_t peak_bytes_of_all() const { return layout_.peak_bytes(MemoryLayout::SmallTensors::Counted); }
  // What a run packs in addition, and leaves in memory. Without inputs: of the constants alone.
  std::int64_t packing_bytes(ArrayView<Tensor> inputs) const;
  struct PackedWeight {
    ValueId value;
    PackedWeights::State state;
  };
  std::vector<PackedWeight> packed_weights(ArrayView<Tensor> inputs) const;
  std::string text() const;  // one line a kernel, with the locations of its operands
  // What a run is on a device that may replay plans, and why.
  std::optional<std::pair<std::string, std::string>> replay() const;

 private:
  void check_inputs(ArrayView<Tensor> inputs) const;
  void draw(std::vector<PelScalar>& numbers) const;
  Tensor allocate(std::uint32_t buffer) const;
  void find_blocks(ArrayView<Tensor> inputs, const Tensor& arena,
                   SmallVector<DeviceBlock*, 32>& blocks) const;
  void queue_step(std::size_t step, KernelArgs& args, OrderedDevice& device, ArrayView<DeviceBlock*> blocks,
                  ReplayRun* run) const;
  // `step` is the number of the step under way, for the error if one is thrown.
  void run_steps(const PelScalar* numbers, ArrayView<Tensor> inputs, std::vector<Tensor>& outputs,
                 std::size_t& step, const AfterLastUse& after_last_use) const;
  static constexpr std::size_t kBeforeSteps = ~std::size_t{0};
  const UserCall* call_of(std::size_t step) const;
  void add_views(ArrayView<Tensor> inputs, std::vector<Tensor>& outputs) const;
  void find_weights(const Graph& graph);
  SmallVector<Operand, 8> known_operands(const PlanStep& step, ArrayView<Tensor> inputs) const;

  std::vector<std::int64_t> symbols_;
  PlanSteps plan_;
  MemoryLayout layout_;
  mutable StepLoops loops_;
  // What launches refer to that an asynchronous device may run after the plan is gone. Null on the CPU.
  struct QueuedCode {
    QueuedCode(const Graph& graph, const PlanSteps& plan, std::shared_ptr<const void> code);
    ~QueuedCode();
    QueuedCode(const QueuedCode&) = delete;
    QueuedCode& operator=(const QueuedCode&) = delete;
    PreparedKernel* prepared_at(std::size_t step) const;

    Device device;
    std::vector<Kernel> kernels;  // of the steps
    std::shared_ptr<const void> loops;
    // Of the steps, on a device with kernels of its own. Those that draw random numbers have others in each
    // run.
    mutable std::vector<PreparedKernel> prepared;
    std::vector<bool> draws;
    mutable std::optional<PlanReplay> replay;  // on a device that has replays
  };
  std::shared_ptr<const QueuedCode> queued_;
  struct LastUse {
    std::size_t step;
    std::uint32_t input;
  };
  std::vector<LastUse> last_uses_;  // of inputs that no output uses, by step
  // The right operand of a matmul, if it is an input or a constant.
  struct Weight {
    ValueId value;
    OperandLocation location;
    MatrixView view;  // without the address
    DType dtype;
    std::uint32_t slot;
    const char* refusal;  // why it is never packed
  };
  // Its matrix in a call; none for an input that is not passed.
  std::optional<PackedWeights::Weight> weight_in_call(const Weight& weight, ArrayView<Tensor> inputs) const;
  SmallVector<PackedWeights::Weight, 16> weights_in_call(ArrayView<Tensor> inputs) const;
  std::vector<Weight> weights_;
  PackedWeights* packed_weights_;
  std::unordered_set<const void*> held_memory_, written_memory_;  // storages of constants, if needed
};

}  // namespace pel::compiler
