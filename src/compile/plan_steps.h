// A graph at given sizes as steps, one kernel each: its operands, numbers, and the buffers that operands lie
// in.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "compile/fake_run.h"
#include "compile/graph.h"
#include "compile/memory_layout.h"
#include "dispatch/loop_compiler.h"

namespace pel::compiler {

// Memory that views share.
struct PlanBuffer {
  enum class Home : std::uint8_t { Input, Constant, Number, Temporary, Result };
  Home home = Home::Temporary;
  std::uint32_t number = 0;  // of the input or constant, or of the first output that lies in it
  std::int64_t bytes = 0;
  std::size_t first = 0, last = 0;  // steps that use it, both included
  void* data = nullptr;             // of a number
};

// Where an operand begins.
struct OperandLocation {
  std::uint32_t buffer;
  std::int64_t offset;  // bytes
};

struct PlanStep {
  Kernel kernel;
  const char* op_name;
  Site site;
  std::uint32_t operand = 0, number = 0;  // its first ones
  std::uint16_t outputs = 0, inputs = 0;
  std::uint32_t numbers = 0;
  std::uint64_t overwrites = 0;    // outputs that may overwrite an input, element by element, a bit each
  std::uint32_t node = 0;          // of the graph
  const UserCall* call = nullptr;  // in the graph: errors of the kernel name it
  const Op* op = nullptr;          // whose kernel list the kernel is from; null: compiled for the graph
  std::optional<Computation> computation{};
  std::optional<std::uint32_t> scratch{};  // a buffer
};

// A tensor that the plan returns: an input or a constant itself, or a view of one or of a result.
struct PlanOutput {
  Tensor like;  // its sizes and strides
  std::uint32_t buffer = 0;
  bool is_base = false;
  bool is_whole = false;    // has all elements of its memory, once apply() is done
  std::size_t same_as = 0;  // the first output that is this tensor
};

struct WrittenInput {
  std::uint32_t number;
  const UserCall* call;  // the first call that writes to it
  std::string output;    // the tensor that the call writes to: "f32[2]"
};
struct InputFromStorage {
  std::uint32_t number;
  const UserCall* call;
};

// A call that draws random numbers: a run calls the op again, over tensors without data, for the numbers of
// its kernels.
struct RandomDraw {
  const GraphNode* node;
  std::vector<Value> args;
  std::uint32_t number;  // the first one of its kernels
};

class PlanSteps {
 public:
  // `loops` are the kernels of the graph's fused nodes, in their order. Both must live as long.
  PlanSteps(const Graph& graph, const CompiledLoops& loops, const std::vector<std::int64_t>& symbols);

  std::vector<PlanStep> steps;
  std::vector<Operand> operands;
  std::vector<OperandLocation> locations;  // of the operands
  std::vector<PelScalar> numbers;
  std::vector<PlanBuffer> buffers;
  std::vector<PlanOutput> outputs;
  std::vector<RandomDraw> draws;
  std::vector<Tensor> constants;
  std::vector<WrittenInput> written_inputs;
  std::vector<std::uint32_t> written_constants;
  std::vector<InputFromStorage> inputs_from_storage;  // must begin where their storage does
  Device device;                                      // that the kernels run on

  static KernelArgs arguments_of(const PlanStep& step, const Operand* operands, const PelScalar* numbers);
  // Operands with the addresses that are known before a run.
  std::vector<Operand> known_operands(const PlanStep& step) const;

  // For lay_out.
  std::vector<LayoutBuffer> layout_buffers() const;
  std::vector<LayoutStep> layout_steps() const;
  // Operands and outputs lie where the layout says from now on.
  void apply(const MemoryLayout& layout);

 private:
  void add_node(std::uint32_t number, const GraphNode& node, const CompiledLoops& loops, FakeRun& run);
  void add_fused(std::uint32_t number, const GraphNode& node, const CompiledLoops& loops,
                 const std::vector<RecordedLaunch>& launches, FakeRun& run);
  // `writers` are the calls that write the outputs, if several calls are one step.
  void add_step(PlanStep step, ArrayView<Tensor> outputs, ArrayView<Tensor> inputs,
                const std::vector<PelScalar>& numbers, const std::vector<const UserCall*>& writers = {});
  void add_scratch(PlanStep& step);
  void add_output(const Tensor& like);
  std::uint32_t buffer_of(const Tensor& tensor);

  std::vector<Tensor> operand_tensors_;  // the operands' sizes and strides are theirs
  std::size_t next_loop_ = 0;
  // While steps are added:
  std::unordered_map<const void*, std::uint32_t> buffer_numbers_;  // by storage
  std::vector<Tensor> bases_;                                      // stand-ins of inputs and constants
};

}  // namespace pel::compiler
