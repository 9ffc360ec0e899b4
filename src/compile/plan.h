// A graph at given sizes: kernels in their order, with the places of their operands in memory. Nothing is
// left to decide when it runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "compile/graph.h"
#include "dispatch/launch_recording.h"
#include "dispatch/loop_compiler.h"

namespace pel::compiler {

// One launch of a plan.
struct PlannedKernel {
  std::string name;           // as the profiler has it
  std::uint32_t node = 0;     // of the graph
  bool is_whole_node = true;  // else one of several launches of a call, or of the calls of a fused loop
  std::uint64_t bytes_read = 0, bytes_written = 0;
  std::string reason;  // why this kernel
};

class Plan {
 public:
  // `loops` are the kernels of the graph's fused loops, in their order. Both must live as long.
  Plan(const Graph& graph, const CompiledLoops& loops, const std::vector<std::int64_t>& symbols);

  // Several threads may run it at once.
  std::vector<Tensor> run(ArrayView<Tensor> inputs) const;

  std::vector<std::string> kernels() const;  // their names, as the profiler has them
  std::vector<PlannedKernel> planned_kernels() const;
  std::int64_t arena_bytes() const { return arena_bytes_; }
  std::int64_t result_bytes() const;  // of memory that is made for results
  // The most bytes of the arena that are in use at one step, which no arrangement stays below.
  std::int64_t live_bytes() const;
  // What a run adds to MemoryStats::data_bytes at its peak.
  std::int64_t peak_bytes() const;
  std::string text() const;  // one line a kernel, with the places of its operands

 private:
  // Memory that views share.
  struct Buffer {
    enum class Home : std::uint8_t { Input, Constant, Number, Arena, Result };
    Home home = Home::Arena;
    std::uint32_t number = 0;  // of the input or constant, or of the first output that lies in it
    std::int64_t bytes = 0, offset = 0;
    std::size_t first = 0, last = 0;  // steps that use it
    void* data = nullptr;             // of a number
    // What it lies in: the arena, or the memory of a result that is written later.
    std::optional<std::uint32_t> host{};
    bool is_alone = false;  // neither: memory of its own, from its first step to its last
  };
  // Memory that is taken before a step: of a result, with what lies there before, or of what stands alone.
  struct Take {
    std::size_t step;
    std::uint32_t buffer;
    std::uint32_t first_hosted = 0, hosted = 0;  // in hosted_
  };
  struct Give {  // back, after a step
    std::size_t step;
    std::size_t take;
  };
  struct Place {
    std::uint32_t buffer;
    std::int64_t offset;  // bytes
  };
  struct Step {
    Kernel kernel;
    const char* op_name;
    Site site;
    std::uint32_t operand = 0, number = 0;  // its first ones
    std::uint16_t outputs = 0, inputs = 0;
    std::uint32_t numbers = 0;
    std::uint64_t overwrites = 0;  // outputs that may lie where an input does, element by element, a bit each
    std::uint32_t node = 0;        // of the graph
    const UserCall* call = nullptr;  // that errors of the kernel name, in the graph
    const Op* op = nullptr;          // whose list the kernel is of; null: compiled for the graph
    std::optional<Computation> computation{};
    std::optional<std::uint32_t> scratch{};  // a buffer
  };
  // A tensor to give back: an input or a constant itself, or a look at it or at what has been made.
  struct Output {
    Tensor like;  // its sizes and strides
    std::uint32_t buffer = 0;
    bool is_base = false;
    std::size_t same_as = 0;  // the first output that is this tensor
  };
  // Random numbers: the calls are made again, over tensors without data, for the numbers of their kernels.
  struct Draw {
    const GraphNode* node;
    std::vector<Value> args;
    std::uint32_t number;  // its kernels' first one
  };

  struct WrittenInput {
    std::uint32_t number;
    const UserCall* call;  // the first that writes to it
    std::string output;    // what that writes to: "f32[2]"
  };
  struct InputFromStorage {
    std::uint32_t number;
    const UserCall* call;
  };
  void check_inputs(ArrayView<Tensor> inputs) const;
  // `writers` are the calls that write the outputs, if several calls are one step.
  void add_step(Step step, ArrayView<Tensor> outputs, ArrayView<Tensor> inputs,
                const std::vector<PelScalar>& numbers, const std::vector<const UserCall*>& writers = {});
  std::uint32_t buffer_of(const Tensor& tensor);
  void add_output(const Tensor& like);
  void lay_out();
  enum class InResults : bool { No, Yes };  // whether what becomes a result may lie in its place before
  void write_in_place(InResults in_results);
  bool same_place(std::size_t operand, std::size_t other) const;
  void add_scratch(Step& step);
  enum class Large : bool { InArena, Alone };
  void plan_arena(Large large);
  void plan_takes();
  Tensor take(const Buffer& buffer) const;
  static constexpr std::size_t kBeforeSteps = ~std::size_t{0};
  // `next_step` is the step under way, for the error if one is thrown.
  std::vector<Tensor> run_steps(ArrayView<Tensor> inputs, const PelScalar* numbers,
                                std::size_t& next_step) const;
  const UserCall* largest_call() const;
  static KernelArgs arguments_of(const Step& step, const Operand* operands, const PelScalar* numbers);
  std::vector<Operand> known_operands(const Step& step) const;
  void draw(std::vector<PelScalar>& numbers) const;

  std::vector<Step> steps_;
  std::vector<Operand> operands_;
  std::vector<Place> places_;  // of the operands
  std::vector<PelScalar> numbers_;
  std::vector<Buffer> buffers_;
  std::vector<Output> outputs_;
  std::vector<Take> takes_;            // by step
  std::vector<Give> gives_;            // by step
  std::vector<std::uint32_t> hosted_;  // buffers
  std::vector<Draw> draws_;
  std::vector<Tensor> kept_;  // operands' sizes and strides are theirs
  std::vector<Tensor> constants_;
  std::vector<WrittenInput> written_inputs_;
  std::vector<std::uint32_t> written_constants_;
  std::unordered_set<const void*> held_memory_, written_memory_;   // storages of constants
  std::vector<InputFromStorage> inputs_from_storage_;              // must begin where their storage does
  std::unordered_map<const void*, std::uint32_t> buffer_numbers_;  // by storage, while it is made
  std::vector<Tensor> bases_;  // stand-ins of inputs and constants, while it is made
  std::int64_t arena_bytes_ = 0;
};

}  // namespace pel::compiler
