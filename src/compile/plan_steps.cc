// In this order, for each node: the op runs over tensors without data (FakeRun), and each kernel that it
// would launch becomes a step; a fused node becomes one step. Storages of the tensors become buffers.
#include "compile/plan_steps.h"

#include <algorithm>

#include "pellucid/profile.h"

#include "base/check.h"
#include "compile/effects.h"
#include "compile/row_calls.h"
#include "dispatch/op_table.h"
#include "dispatch/pointwise.h"
#include "dispatch/rows.h"
#include "tensor/make.h"

namespace pel::compiler {
namespace {

// The last element that a tensor addresses, in elements of its storage; -1 if it has none.
Dim last_element(const Tensor& t) {
  Dim last = t.storage_offset();
  for (std::size_t axis = 0; axis < t.sizes().size(); ++axis) {
    if (t.sizes()[axis] == 0) return -1;
    last += (t.sizes()[axis] - 1) * t.strides()[axis];
  }
  return last;
}

// Storages without data have no end that the op could check.
void check_window(const Graph& graph, const GraphNode& node, FakeRun& run) {
  const ValueId view = std::get<ValueId>(node.results[0]);
  for (std::uint32_t first = 0; first < graph.values.size();
       ++first) {  // the one that has all of the storage
    if (graph.values[first].storage != graph[view].storage || !run.has({first})) continue;
    const Tensor& whole = run[{first}];
    if (whole.has_data()) continue;
    PEL_CHECK(last_element(run[view]) <= last_element(whole), ValueError,
              "as_strided: {} with strides {} reaches beyond the {} that it is a view of",
              describe(run[view]), to_string(run[view].strides()), describe(whole));
    return;
  }
}

// Outputs that a kernel may write where it reads an input.
std::uint64_t overwrites(const RecordedLaunch& launch) {
  if (!launch.computation) return 0;
  if (launch.op->pointwise() != nullptr) return kAnyOutput;
  const Rows* rows = launch.op->rows();
  return rows == nullptr ? 0 : overwrites(rows->programs[launch.computation->formula].outputs);
}

// Whether two operands address the same elements, if they lie in one buffer.
bool is_same_view(const Operand& a, const Operand& b) {
  return a.rank == b.rank &&
         size_bytes(static_cast<DType>(a.dtype)) == size_bytes(static_cast<DType>(b.dtype)) &&
         std::equal(a.sizes, a.sizes + a.rank, b.sizes) &&
         std::equal(a.strides, a.strides + a.rank, b.strides);
}

// The call of a fused elementwise loop that may fail: its only division (fuse_pointwise).
const UserCall& call_that_may_fail(const GraphNode& fused) {
  for (const GraphNode& inner : fused.body)
    if (const Pointwise* facts = inner.op->pointwise(); facts != nullptr && facts->divides) return inner.site;
  return fused.site;
}

const UserCall& call_with_result(const GraphNode& fused, ValueId id) {
  for (const GraphNode& inner : fused.body)
    if (has_value(inner.results, id)) return inner.site;
  return fused.site;
}

Device device_of(const Graph& graph) {
  const auto found = std::ranges::find_if(
      graph.values, [](const GraphValue& value) { return value.device.type != DeviceType::Meta; });
  return found == graph.values.end() ? Device{} : found->device;
}

// From the beginning of the tensor's storage to the end of its last element.
std::int64_t end_bytes(const Tensor& tensor) {
  return (last_element(tensor).value() + 1) * size_bytes(tensor.dtype());
}
// Whether a tensor has all elements of memory of `bytes`: other results may be views of a part that it does
// not show.
bool shows_all(const Tensor& tensor, std::int64_t bytes) {
  return end_bytes(tensor) == bytes && tensor.storage_offset().value() == 0;
}

}  // namespace

PlanSteps::PlanSteps(const Graph& graph, const CompiledLoops& loops, const std::vector<std::int64_t>& symbols)
    : constants(graph.constants), device(device_of(graph)) {
  FakeRun run(graph, symbols);
  const auto add_base = [&](const Tensor& stand_in, PlanBuffer::Home home, std::size_t number) {
    const auto [known, is_new] = buffer_numbers_.emplace(stand_in.header()->storage, buffers.size());
    if (is_new) buffers.push_back({.home = home, .number = static_cast<std::uint32_t>(number)});
    bases_.push_back(stand_in);
  };
  for (std::size_t i = 0; i < graph.inputs.size(); ++i)
    add_base(run[graph.inputs[i]], PlanBuffer::Home::Input, i);
  for (std::size_t i = 0; i < graph.constants.size(); ++i)
    add_base(run[graph.constant_values[i]], PlanBuffer::Home::Constant, i);
  for (std::uint32_t n = 0; n < graph.nodes.size(); ++n) add_node(n, graph.nodes[n], loops, run);
  for (const ValueId id : graph.outputs) add_output(run[id]);
  buffer_numbers_.clear();
  bases_.clear();
}

void PlanSteps::add_node(std::uint32_t number, const GraphNode& node, const CompiledLoops& loops,
                         FakeRun& run) {
  if (draws_random(node))
    draws.push_back({&node, run.arguments(node), static_cast<std::uint32_t>(numbers.size())});
  const std::vector<RecordedLaunch> launches = run.call(node);
  if (node.op == &op<"as_strided">()) {
    check_window(run.graph(), node, run);
    if (!std::holds_alternative<std::monostate>(node.args[3])) {
      const PlanBuffer& buffer = buffers[buffer_of(run[std::get<ValueId>(node.args[0])])];
      if (buffer.home == PlanBuffer::Home::Input) inputs_from_storage.push_back({buffer.number, &node.site});
    }
  }
  // At other sizes a call may launch another formula than when the loop was compiled: then calls run one by
  // one.
  if (node.is_fused() && call_parts(launches) == loops.parts[next_loop_++])
    return add_fused(number, node, loops, launches, run);
  for (std::size_t i = 0; i < launches.size(); ++i) {
    const RecordedLaunch& launch = launches[i];
    // A call that can be fused is one launch.
    const UserCall& call = node.body.size() == launches.size() ? node.body[i].site : node.site;
    for (const auto* list : {&launch.outputs, &launch.inputs})
      operand_tensors_.insert(operand_tensors_.end(), list->begin(), list->end());
    if (launch.kernel == nullptr) continue;
    add_step({.kernel = *launch.kernel,
              .op_name = zero_ended_name(*launch.op),
              .site = call,
              .overwrites = overwrites(launch),
              .node = number,
              .call = &call,
              .op = launch.op,
              .computation = launch.computation},
             launch.outputs, launch.inputs, launch.numbers);
  }
}

void PlanSteps::add_fused(std::uint32_t number, const GraphNode& node, const CompiledLoops& loops,
                          const std::vector<RecordedLaunch>& launches, FakeRun& run) {
  const std::size_t loop = next_loop_ - 1;
  for (const RecordedLaunch& launch : launches)
    operand_tensors_.insert(operand_tensors_.end(), launch.outputs.begin(), launch.outputs.end());
  const LoopOperands all = node.kind == NodeKind::FusedRows ? row_operands(node, launches, run)
                                                            : elementwise_operands(node, launches, run);
  if (std::ranges::all_of(all.outputs, [](const Tensor& t) { return t.numel().value() == 0; })) return;
  std::vector<const UserCall*> writers;
  if (node.kind == NodeKind::FusedElementwise) {
    for (const GraphArg& result : node.results)
      writers.push_back(&call_with_result(node, std::get<ValueId>(result)));
  }
  add_step({.kernel = loops.kernels[loop],
            .op_name = interned(node.name),
            .site = node.site,
            .overwrites = loops.overwrites[loop],
            .node = number,
            .call = &call_that_may_fail(node)},
           all.outputs, all.inputs, all.numbers, writers);
}

std::uint32_t PlanSteps::buffer_of(const Tensor& tensor) {
  const auto [known, is_new] =
      buffer_numbers_.emplace(tensor.header()->storage, static_cast<std::uint32_t>(buffers.size()));
  if (is_new) {
    PlanBuffer& added = buffers.emplace_back();
    added.first = steps.size();
    if (tensor.has_data()) {
      added.home = PlanBuffer::Home::Number;
      added.data = tensor.header()->storage->data;
    }
  }
  PlanBuffer& buffer = buffers[known->second];
  buffer.bytes = std::max(buffer.bytes, end_bytes(tensor));
  buffer.last = steps.size();
  return known->second;
}

void PlanSteps::add_step(PlanStep step, ArrayView<Tensor> outputs_of_step, ArrayView<Tensor> inputs_of_step,
                         const std::vector<PelScalar>& numbers_of_step,
                         const std::vector<const UserCall*>& writers) {
  step.operand = static_cast<std::uint32_t>(operands.size());
  step.outputs = static_cast<std::uint16_t>(outputs_of_step.size());
  step.inputs = static_cast<std::uint16_t>(inputs_of_step.size());
  step.number = static_cast<std::uint32_t>(numbers.size());
  step.numbers = static_cast<std::uint32_t>(numbers_of_step.size());
  numbers.insert(numbers.end(), numbers_of_step.begin(), numbers_of_step.end());
  const auto add = [&](const Tensor& t) {
    operand_tensors_.push_back(t);
    const std::uint32_t buffer = buffer_of(t);
    fill_operand_of(operands.emplace_back(), t);
    locations.push_back({buffer, t.storage_offset().value() * size_bytes(t.dtype())});
    return buffer;
  };
  for (std::size_t o = 0; o < outputs_of_step.size(); ++o) {
    const PlanBuffer& buffer = buffers[add(outputs_of_step[o])];
    if (buffer.home == PlanBuffer::Home::Input)
      written_inputs.push_back(
          {buffer.number, writers.empty() ? step.call : writers[o], describe(outputs_of_step[o])});
    if (buffer.home == PlanBuffer::Home::Constant) written_constants.push_back(buffer.number);
  }
  for (const Tensor& t : inputs_of_step) add(t);
  if (step.kernel.scratch_bytes != nullptr) add_scratch(step);
  steps.push_back(step);
}

// Scratch memory of a kernel lies in the arena.
void PlanSteps::add_scratch(PlanStep& step) {
  const std::vector<Operand> known = known_operands(step);
  KernelArgs args = arguments_of(step, known.data(), numbers.data());
  args.context = step.kernel.context;
  const auto bytes = static_cast<std::int64_t>(step.kernel.scratch_bytes(args));
  if (bytes == 0) return;
  step.scratch = static_cast<std::uint32_t>(buffers.size());
  buffers.push_back({.bytes = bytes, .first = steps.size(), .last = steps.size()});
}

void PlanSteps::add_output(const Tensor& like) {
  PlanOutput output;
  output.like = like;
  output.buffer = buffer_of(like);
  PlanBuffer& buffer = buffers[output.buffer];
  // A version of an input is the input.
  output.is_base = std::ranges::any_of(bases_, [&](const Tensor& base) { return base.is_same(like); });
  if (buffer.home == PlanBuffer::Home::Temporary) {
    buffer.home = PlanBuffer::Home::Result;
    buffer.number = static_cast<std::uint32_t>(outputs.size());
  }
  const auto same = std::ranges::find_if(outputs, [&](const PlanOutput& o) { return o.like.is_same(like); });
  output.same_as = static_cast<std::size_t>(same - outputs.begin());
  outputs.push_back(std::move(output));
}

KernelArgs PlanSteps::arguments_of(const PlanStep& step, const Operand* operands, const PelScalar* numbers) {
  return {PEL_KERNEL_ARGS_VERSION,
          step.outputs,
          step.inputs,
          operands,
          numbers + step.number,
          step.numbers,
          0,
          nullptr,
          0,
          nullptr};
}

std::vector<Operand> PlanSteps::known_operands(const PlanStep& step) const {
  // Only addresses within one storage are compared: as if all others began here.
  constexpr std::int64_t kBegin = 1 << 20;
  std::vector<Operand> known;
  for (std::size_t i = step.operand; i < step.operand + step.outputs + std::size_t{step.inputs}; ++i) {
    const PlanBuffer& buffer = buffers[locations[i].buffer];
    auto* base = reinterpret_cast<std::byte*>(kBegin);
    if (buffer.home == PlanBuffer::Home::Constant)
      base = static_cast<std::byte*>(constants[buffer.number].raw_data());
    if (buffer.home == PlanBuffer::Home::Number) base = static_cast<std::byte*>(buffer.data);
    known.push_back(operands[i]);
    known.back().data = base + locations[i].offset;
  }
  return known;
}

std::vector<LayoutBuffer> PlanSteps::layout_buffers() const {
  std::vector<LayoutBuffer> all;
  for (const PlanBuffer& buffer : buffers) {
    LayoutBuffer& added = all.emplace_back();
    added.kind = LayoutBuffer::Kind::Given;
    if (buffer.home == PlanBuffer::Home::Temporary) added.kind = LayoutBuffer::Kind::Temporary;
    added.bytes = buffer.bytes;
    added.first = buffer.first;
    added.last = buffer.last;
    if (buffer.home != PlanBuffer::Home::Result) continue;
    const Tensor& like = outputs[buffer.number].like;
    added.kind = LayoutBuffer::Kind::Result;
    added.result = buffer.number;
    added.rank = shows_all(like, buffer.bytes) ? static_cast<std::size_t>(like.dim()) : 1;
  }
  return all;
}

std::vector<LayoutStep> PlanSteps::layout_steps() const {
  std::vector<LayoutStep> all;
  for (const PlanStep& step : steps) {
    LayoutStep& added = all.emplace_back();
    added.overwrites = step.overwrites;
    const std::size_t inputs = step.operand + step.outputs, end = inputs + step.inputs;
    for (std::size_t i = step.operand; i < end; ++i) {
      std::size_t same = step.operand;  // the first operand that addresses the same elements
      while (locations[same].offset != locations[i].offset || !is_same_view(operands[same], operands[i]))
        ++same;
      (i < inputs ? added.outputs : added.inputs)
          .push_back({locations[i].buffer, static_cast<std::uint32_t>(same - step.operand)});
    }
  }
  return all;
}

void PlanSteps::apply(const MemoryLayout& layout) {
  for (OperandLocation& location : locations) location.buffer = layout.root[location.buffer];
  for (PlanOutput& output : outputs) {
    output.buffer = layout.root[output.buffer];
    output.is_whole = shows_all(output.like, layout.slots[output.buffer].buffer.bytes);
  }
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const LayoutBuffer& laid_out = layout.slots[i].buffer;
    if (laid_out.kind != LayoutBuffer::Kind::Result) continue;
    buffers[i].home = PlanBuffer::Home::Result;  // a temporary that a result overwrites
    buffers[i].number = laid_out.result;
  }
}

}  // namespace pel::compiler
