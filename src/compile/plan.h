// A graph at given sizes, ready to run: kernels in their order (plan_steps.h), and where their operands lie
// (memory_layout.h). A run decides nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_set>
#include <vector>

#include "compile/graph.h"
#include "compile/memory_layout.h"
#include "compile/plan_steps.h"
#include "compile/step_loops.h"
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
};

class Plan {
 public:
  // `loops` are the kernels of the graph's fused nodes, in their order. Both must live as long.
  Plan(const Graph& graph, const CompiledLoops& loops, const std::vector<std::int64_t>& symbols);

  // Several threads may run it at once. `after_last_use` is called with the number of each input that no
  // later step and no output uses.
  using AfterLastUse = std::function<void(std::size_t input)>;
  std::vector<Tensor> run(ArrayView<Tensor> inputs, const AfterLastUse& after_last_use = {}) const;

  std::vector<std::string> kernels() const;  // their names, as the profiler has them
  std::vector<PlannedKernel> planned_kernels() const;
  bool knows_threads() const { return loops_.known().has_value(); }  // of planned_kernels(), after a run
  const std::vector<std::int64_t>& symbols() const { return symbols_; }
  std::int64_t arena_bytes() const { return layout_.arena_bytes; }
  std::int64_t result_bytes() const { return layout_.result_bytes(); }  // of memory allocated for results
  // The largest number of bytes of the arena in use at one step: a lower bound of any arrangement.
  std::int64_t live_bytes() const { return layout_.live_bytes(); }
  // What a run adds to MemoryStats::data_bytes at its peak.
  std::int64_t peak_bytes() const { return layout_.peak_bytes(); }
  // The same with small tensors, which MemoryStats leaves out.
  std::int64_t peak_bytes_of_all() const { return layout_.peak_bytes(MemoryLayout::SmallTensors::Counted); }
  std::string text() const;  // one line a kernel, with the locations of its operands

 private:
  void check_inputs(ArrayView<Tensor> inputs) const;
  void draw(std::vector<PelScalar>& numbers) const;
  Tensor allocate(std::uint32_t buffer) const;
  // `step` is the number of the step under way, for the error if one is thrown.
  void run_steps(const PelScalar* numbers, ArrayView<Tensor> inputs, std::vector<Tensor>& outputs,
                 std::size_t& step, const AfterLastUse& after_last_use) const;
  static constexpr std::size_t kBeforeSteps = ~std::size_t{0};
  const UserCall* call_of(std::size_t step) const;
  void add_views(ArrayView<Tensor> inputs, std::vector<Tensor>& outputs) const;

  std::vector<std::int64_t> symbols_;
  PlanSteps plan_;
  MemoryLayout layout_;
  mutable StepLoops loops_;
  struct LastUse {
    std::size_t step;
    std::uint32_t input;
  };
  std::vector<LastUse> last_uses_;                                // of inputs that no output uses, by step
  std::unordered_set<const void*> held_memory_, written_memory_;  // storages of constants, if needed
};

}  // namespace pel::compiler
