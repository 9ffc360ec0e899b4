// A graph at given sizes as steps, one kernel each: its operands, numbers, and the buffers that operands lie
// in.
//
// Of nodes that are alike, such as those of a model's layers, the first one runs over tensors without data,
// and the others repeat its steps over their own arguments (decision 0036).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/small_vector.h"
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
  std::size_t step;
  std::uint32_t number;
  const UserCall* call;  // the first call that writes to it
  std::string output;    // the tensor that the call writes to: "f32[2]"
};
struct WrittenConstant {
  std::size_t step;
  std::uint32_t number;
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
  std::vector<WrittenInput> written_inputs;  // in the order of the steps
  std::vector<WrittenConstant> written_constants;
  std::vector<InputFromStorage> inputs_from_storage;  // must begin where their storage does
  Device device;                                      // that the kernels run on

  // Tensors that share memory have one number.
  std::uint32_t memory_of_operand(std::size_t operand) const { return operand_facts_[operand].memory; }
  std::uint32_t memory_of_value(ValueId value) const { return values_[value.number].memory; }

  static KernelArgs arguments_of(const PlanStep& step, const Operand* operands, const PelScalar* numbers);
  // Operands with the addresses that are known before a run.
  SmallVector<Operand, 8> known_operands(const PlanStep& step) const;

  // For lay_out.
  std::vector<LayoutBuffer> layout_buffers() const;
  std::vector<LayoutStep> layout_steps() const;
  // Operands and outputs lie where the layout says from now on.
  void apply(const MemoryLayout& layout);

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  // Memory that tensors of the run share. It becomes a buffer with the first step that uses it.
  struct Memory {
    std::uint32_t buffer = kNone;
    Tensor stand_in{};  // a tensor that lies in it, if the run has one
  };
  // A value of the graph whose producer has been added.
  struct PlacedValue {
    std::uint32_t memory = kNone;
    ValueId like{};     // a value of the run whose tensor has its sizes, strides and offset
    ValueId same_as{};  // the first value that is this tensor: a call that writes returns its argument
  };
  // An operand in addition to its location.
  struct OperandFacts {
    std::uint32_t memory;
    std::uint32_t view;    // the first operand of the step that addresses the same elements
    std::uint32_t tensor;  // in operand_tensors_
    std::int64_t end;      // of its last element, in bytes of its memory
  };
  // What a node has added, if others may repeat it.
  struct Added {
    std::uint32_t node, next;  // the next one of a node that is alike, but whose arguments have other layouts
    std::uint32_t first_step, end_step, first_memory, end_memory;
    std::uint32_t loop;  // of a fused node
  };

  void add_base(ValueId id, PlanBuffer::Home home, std::size_t number);
  void add_node(std::uint32_t number, const CompiledLoops& loops);
  // Adds what an earlier node added, over the arguments of this one. Returns false if there is no such node.
  bool repeat(std::uint32_t number, const CompiledLoops& loops);
  // `firsts` and `own` are the arguments of that node and of this one.
  bool is_repeated(const Added& added, const GraphNode& node, const CompiledLoops& loops,
                   ArrayView<ValueId> firsts, ArrayView<ValueId> own);
  void note_added(std::uint32_t number, Added added);
  void check_window(const GraphNode& node);
  // False: its calls run one by one.
  bool add_fused(std::uint32_t number, const CompiledLoops& loops,
                 const std::vector<RecordedLaunch>& launches);
  void add_step(PlanStep step, ArrayView<Tensor> outputs, ArrayView<Tensor> inputs,
                const std::vector<PelScalar>& numbers);
  void note_write(const PlanStep& step, std::size_t o);
  void add_scratch(PlanStep& step);
  void add_output(ValueId id);
  bool is_base(ValueId id) const { return (*graph_)[id].origin != GraphValue::Origin::Node; }
  // The value's tensor in the run, which it need not have before.
  const Tensor& tensor_of(ValueId id);
  std::uint32_t memory_of(const Tensor& tensor);
  // The buffer of a memory that the next step uses up to `end`, in bytes.
  std::uint32_t used_buffer(std::uint32_t memory, std::int64_t end);

  std::vector<Tensor> operand_tensors_;      // the operands' sizes and strides are theirs
  std::vector<OperandFacts> operand_facts_;  // of the operands
  std::vector<PlacedValue> values_;          // of the graph
  std::size_t next_loop_ = 0;
  // While steps are added:
  const Graph* graph_;
  std::optional<FakeRun> run_;
  std::vector<std::uint32_t> alike_;  // by node: the first one with the same content
  std::vector<Memory> memories_;
  std::unordered_map<const void*, std::uint32_t> memory_numbers_;  // by storage
  std::vector<Added> added_;
  std::vector<std::uint32_t> last_added_;  // by node: the last one that is alike, in added_
};

}  // namespace pel::compiler
