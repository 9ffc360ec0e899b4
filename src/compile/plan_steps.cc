// In this order, for each node: the op runs over tensors without data (FakeRun), and each kernel that it
// would launch becomes a step; a fused node becomes one step (add_node). Storages of the tensors are
// memories, and become buffers when a step uses them. A node that is like an earlier one does not run: it
// repeats the steps of that node, over its own memories (repeat).
#include "compile/plan_steps.h"

#include <algorithm>

#include "pellucid/profile.h"

#include "base/check.h"
#include "base/small_vector.h"
#include "compile/effects.h"
#include "compile/gemm_calls.h"
#include "compile/node_content.h"
#include "compile/row_calls.h"
#include "device/unallocated_memory.h"
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

// The call in the body of `node` at the position of `call` in that of `first`.
const UserCall& counterpart_call(const GraphNode& first, const GraphNode& node, const UserCall* call) {
  std::size_t i = 0;
  while (&first.body[i].site != call) ++i;
  return node.body[i].site;
}

// Whether tensors of the same dtype and rank have their elements at the same offsets of their storages.
bool is_same_layout(const Tensor& a, const Tensor& b) {
  const detail::TensorHeader &x = *a.header(), &y = *b.header();
  return Dim::identical(x.offset, y.offset) && x.is_row_major == y.is_row_major &&
         std::equal(x.sizes(), x.sizes() + x.rank, y.sizes(), Dim::identical) &&
         std::equal(x.strides(), x.strides() + x.rank, y.strides(), Dim::identical);
}

Device common_device_of(const Graph& graph) {
  const auto found = std::ranges::find_if(
      graph.values, [](const GraphValue& value) { return value.device.type != DeviceType::Meta; });
  return found == graph.values.end() ? Device{} : found->device;
}

// From the beginning of the tensor's storage to the end of its last element.
std::int64_t end_bytes(const Tensor& tensor) {
  return (last_element(tensor).value() + 1) * size_bytes(tensor.dtype());
}
// Whether the kernel of a fused node takes its operands. Those of the CPU take all.
bool supports(const Kernel& kernel, const LoopOperands& all) {
  std::vector<Operand> operands;
  for (const auto* list : {&all.outputs, &all.inputs})
    for (const Tensor& tensor : *list) fill_operand_of(operands.emplace_back(), tensor);
  KernelArgs args{PEL_KERNEL_ARGS_VERSION,
                  static_cast<std::uint16_t>(all.outputs.size()),
                  static_cast<std::uint16_t>(all.inputs.size()),
                  operands.data(),
                  all.numbers.data(),
                  static_cast<std::uint32_t>(all.numbers.size()),
                  0,
                  nullptr,
                  0,
                  nullptr};
  args.context = kernel.context;
  return static_cast<bool>(kernel.supports(args));
}
// Whether a tensor has all elements of memory of `bytes`: other results may be views of a part that it does
// not show.
bool shows_all(const Tensor& tensor, std::int64_t bytes) {
  return end_bytes(tensor) == bytes && tensor.storage_offset().value() == 0;
}

}  // namespace

PlanSteps::PlanSteps(const Graph& graph, const CompiledLoops& loops, const std::vector<std::int64_t>& symbols)
    : constants(graph.constants),
      device(common_device_of(graph)),
      values_(graph.values.size()),
      graph_(&graph),
      alike_(graph.alike.empty() ? alike_nodes(graph) : graph.alike),
      last_added_(graph.nodes.size(), kNone) {
  // Most nodes are one step or a view.
  const std::size_t nodes = graph.nodes.size(), bases = graph.inputs.size() + graph.constants.size();
  steps.reserve(nodes);
  operands.reserve(4 * nodes), locations.reserve(4 * nodes), operand_facts_.reserve(4 * nodes);
  buffers.reserve(nodes + bases), memories_.reserve(nodes + bases);
  run_.emplace(graph, symbols);
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) add_base(graph.inputs[i], PlanBuffer::Home::Input, i);
  for (std::size_t i = 0; i < graph.constants.size(); ++i)
    add_base(graph.constant_values[i], PlanBuffer::Home::Constant, i);
  for (std::uint32_t n = 0; n < graph.nodes.size(); ++n)
    if (!repeat(n, loops)) add_node(n, loops);
  for (const ValueId id : graph.outputs) add_output(id);
  run_.reset();
  alike_ = {};
  memories_ = {};
  memory_numbers_ = {};
  added_ = {};
  last_added_ = {};
}

void PlanSteps::add_base(ValueId id, PlanBuffer::Home home, std::size_t number) {
  PlacedValue& value = values_[id.number];
  if (value.memory != kNone) return;  // it was passed twice
  value = {static_cast<std::uint32_t>(memories_.size()), id, id};
  memories_.push_back({.buffer = static_cast<std::uint32_t>(buffers.size())});
  buffers.push_back({.home = home, .number = static_cast<std::uint32_t>(number)});
}

const Tensor& PlanSteps::tensor_of(ValueId id) {
  FakeRun& run = *run_;
  const PlacedValue& value = values_[id.number];
  if (run.has(id) || value.memory == kNone) return run[id];
  Memory& memory = memories_[value.memory];
  if (value.like == id) {  // an input or a constant: a stand-in as the graph describes it
    memory.stand_in = run[id];
  } else {
    const Tensor& like = run[value.like];
    // Of a node that was repeated. Memory that has no tensor yet begins with this one.
    const Tensor base =
        memory.stand_in.defined() ? memory.stand_in : make_strided({}, {}, like.dtype(), like.device());
    Tensor view = make_view(base, like.sizes(), like.strides(), like.storage_offset());
    view.header()->dtype = like.dtype();
    view.header()->is_row_major = like.header()->is_row_major;
    run.define(id, view);
    memory.stand_in = view;
  }
  memory_numbers_.emplace(memory.stand_in.header()->storage, value.memory);
  return run[id];
}

std::uint32_t PlanSteps::memory_of(const Tensor& tensor) {
  const auto [known, is_new] =
      memory_numbers_.emplace(tensor.header()->storage, static_cast<std::uint32_t>(memories_.size()));
  if (is_new) memories_.push_back({.stand_in = tensor});
  return known->second;
}

std::uint32_t PlanSteps::used_buffer(std::uint32_t memory, std::int64_t end) {
  Memory& used = memories_[memory];
  if (used.buffer == kNone) {
    used.buffer = static_cast<std::uint32_t>(buffers.size());
    PlanBuffer& added = buffers.emplace_back();
    added.first = steps.size();
    if (used.stand_in.defined() && used.stand_in.has_data()) {
      added.home = PlanBuffer::Home::Number;
      added.data = used.stand_in.header()->storage->data;
    }
  }
  PlanBuffer& buffer = buffers[used.buffer];
  buffer.bytes = std::max(buffer.bytes, end);
  buffer.last = steps.size();
  return used.buffer;
}

// Storages without data have no end that the op could check.
void PlanSteps::check_window(const GraphNode& node) {
  const ValueId view = std::get<ValueId>(node.results[0]);
  for (std::uint32_t first = 0; first < values_.size(); ++first) {  // the one that has all of the storage
    if (graph_->values[first].storage != (*graph_)[view].storage || values_[first].memory == kNone) continue;
    const Tensor whole = tensor_of({first}), window = (*run_)[view];
    if (whole.has_data()) continue;
    PEL_CHECK(last_element(window) <= last_element(whole), ValueError,
              "as_strided: {} with strides {} reaches beyond the {} that it is a view of", describe(window),
              to_string(window.strides()), describe(whole));
    return;
  }
}

void PlanSteps::add_node(std::uint32_t number, const CompiledLoops& loops) {
  const GraphNode& node = graph_->nodes[number];
  FakeRun& run = *run_;
  for (const GraphArg& arg : node.args) for_values(arg, [&](ValueId id) { tensor_of(id); });
  Added added{.node = number,
              .next = kNone,
              .first_step = static_cast<std::uint32_t>(steps.size()),
              .end_step = 0,
              .first_memory = static_cast<std::uint32_t>(memories_.size()),
              .end_memory = 0,
              .loop = static_cast<std::uint32_t>(next_loop_)};
  if (draws_random(node))
    draws.push_back({&node, run.arguments(node), static_cast<std::uint32_t>(numbers.size())});
  const std::vector<RecordedLaunch> launches = run.call(node);
  if (node.op == &op<"as_strided">()) {
    check_window(node);
    if (!std::holds_alternative<std::monostate>(node.args[3])) {
      const Tensor& base = run[std::get<ValueId>(node.args[0])];
      const PlanBuffer& buffer = buffers[used_buffer(memory_of(base), end_bytes(base))];
      if (buffer.home == PlanBuffer::Home::Input) inputs_from_storage.push_back({buffer.number, &node.site});
    }
  }
  // At other sizes a call may launch another formula than when the loop was compiled: then calls run one by
  // one.
  if (node.is_fused() && call_parts(launches) == loops.parts[next_loop_++] &&
      add_fused(number, loops, launches))
    return note_added(number, added);
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
  note_added(number, added);
}

bool PlanSteps::add_fused(std::uint32_t number, const CompiledLoops& loops,
                          const std::vector<RecordedLaunch>& launches) {
  const GraphNode& node = graph_->nodes[number];
  const std::size_t loop = next_loop_ - 1;
  std::optional<LoopOperands> all;
  switch (node.kind) {
    case NodeKind::FusedRows:
      all = row_operands(node, launches, *run_);
      break;
    case NodeKind::FusedGemm:
      all = gemm_operands(node, launches, *run_);
      break;
    default:
      all = elementwise_operands(node, launches, *run_);
  }
  if (!all) return false;
  for (const RecordedLaunch& launch : launches)
    operand_tensors_.insert(operand_tensors_.end(), launch.outputs.begin(), launch.outputs.end());
  if (std::ranges::all_of(all->outputs, [](const Tensor& t) { return t.numel().value() == 0; })) return true;
  if (is_asynchronous(device) && !supports(loops.kernels[loop], *all)) return false;
  add_step({.kernel = loops.kernels[loop],
            .op_name = interned(node.name),
            .site = node.site,
            .overwrites = loops.overwrites[loop],
            .node = number,
            .call = &call_that_may_fail(node)},
           all->outputs, all->inputs, all->numbers);
  return true;
}

// Places the results of a node that has been run, and notes its steps for nodes that are alike.
void PlanSteps::note_added(std::uint32_t number, Added added) {
  const GraphNode& node = graph_->nodes[number];
  const ValueList arguments = values_in(node.args);
  // Ops could hold tensors of their own. Those of the arguments and new ones have a counterpart in other
  // nodes.
  const auto has_counterpart = [&](std::uint32_t memory) {
    return memory >= added.first_memory ||
           std::ranges::any_of(arguments, [&](ValueId id) { return values_[id.number].memory == memory; });
  };
  bool is_repeatable = !draws_random(node) && node.op != &op<"as_strided">();
  for (const ValueId id : values_in(node.results)) {
    const Tensor& tensor = (*run_)[id];
    PlacedValue& value = values_[id.number];
    if (value.memory == kNone) {
      value = {memory_of(tensor), id, id};
      for (const ValueId argument : arguments)
        if ((*run_)[argument].is_same(tensor)) value.same_as = values_[argument.number].same_as;
    }
    is_repeatable = is_repeatable && has_counterpart(value.memory);
  }
  added.end_step = static_cast<std::uint32_t>(steps.size());
  added.end_memory = static_cast<std::uint32_t>(memories_.size());
  for (std::uint32_t s = added.first_step; s < added.end_step; ++s)
    for (std::size_t i = steps[s].operand, end = i + steps[s].outputs + steps[s].inputs; i < end; ++i)
      is_repeatable = is_repeatable && has_counterpart(operand_facts_[i].memory);
  if (!is_repeatable) return;
  std::uint32_t& last = last_added_[alike_[number]];
  added.next = last;
  last = static_cast<std::uint32_t>(added_.size());
  added_.push_back(added);
}

// Whether a node adds the same steps: its arguments have the same layouts and share memory in the same way.
bool PlanSteps::is_repeated(const Added& added, const GraphNode& node, const CompiledLoops& loops,
                            ArrayView<ValueId> firsts, ArrayView<ValueId> own) {
  if (node.is_fused() && (loops.parts[added.loop] != loops.parts[next_loop_] ||
                          loops.overwrites[added.loop] != loops.overwrites[next_loop_]))
    return false;
  for (std::size_t i = 0; i < own.size(); ++i) {
    const PlacedValue &a = values_[firsts[i].number], &b = values_[own[i].number];
    // What the caller holds is as the graph describes it, and the graph describes both in the same way.
    const bool are_described = is_base(a.like) && is_base(b.like);
    if (!(a.like == b.like) && !are_described && !is_same_layout(tensor_of(a.like), tensor_of(b.like)))
      return false;
    for (std::size_t j = 0; j < i; ++j) {
      const bool is_shared = a.memory == values_[firsts[j].number].memory;
      if (is_shared != (b.memory == values_[own[j].number].memory)) return false;
    }
  }
  return true;
}

bool PlanSteps::repeat(std::uint32_t number, const CompiledLoops& loops) {
  const GraphNode& node = graph_->nodes[number];
  std::uint32_t at = last_added_[alike_[number]];
  if (at == kNone) return false;
  const ValueList own = values_in(node.args);
  ValueList firsts;
  for (; at != kNone; at = added_[at].next) {
    firsts = values_in(graph_->nodes[added_[at].node].args);
    if (is_repeated(added_[at], node, loops, firsts, own)) break;
  }
  if (at == kNone) return false;
  const Added from = added_[at];
  const GraphNode& first = graph_->nodes[from.node];
  const std::size_t loop = next_loop_;
  if (node.is_fused()) ++next_loop_;

  const auto new_memories = static_cast<std::uint32_t>(memories_.size());
  for (std::uint32_t m = from.first_memory; m < from.end_memory; ++m) {
    memories_.emplace_back();
    if (const Tensor& made = memories_[m].stand_in; made.defined() && made.has_data())
      memories_.back().stand_in = made;  // a number, which nothing writes to
  }
  const auto counterpart = [&](std::uint32_t memory) {
    if (memory >= from.first_memory) return new_memories + (memory - from.first_memory);
    std::size_t i = 0;
    while (values_[firsts[i].number].memory != memory) ++i;
    return values_[own[i].number].memory;
  };
  for (std::uint32_t s = from.first_step; s < from.end_step; ++s) {
    PlanStep step = steps[s];
    const std::size_t operand = step.operand, numbers_at = step.number;
    step.node = number;
    if (step.op == nullptr) {
      step.kernel = loops.kernels[loop];
      step.op_name = interned(node.name);
      step.site = node.site;
      step.call = &call_that_may_fail(node);
    } else {
      step.call = step.call == &first.site ? &node.site : &counterpart_call(first, node, step.call);
      step.site = *step.call;
    }
    step.scratch.reset();
    step.operand = static_cast<std::uint32_t>(operands.size());
    step.number = static_cast<std::uint32_t>(numbers.size());
    for (std::size_t i = 0; i < step.numbers; ++i) numbers.push_back(numbers[numbers_at + i]);
    for (std::size_t i = operand, end = i + step.outputs + step.inputs; i < end; ++i) {
      OperandFacts facts = operand_facts_[i];
      facts.memory = counterpart(facts.memory);
      operand_facts_.push_back(facts);
      operands.push_back(operands[i]);
      locations.push_back({used_buffer(facts.memory, facts.end), locations[i].offset});
      if (i - operand < step.outputs) note_write(step, i - operand);
    }
    if (step.kernel.scratch_bytes != nullptr) add_scratch(step);
    steps.push_back(step);
  }
  const ValueList first_results = values_in(first.results), results = values_in(node.results);
  for (std::size_t i = 0; i < results.size(); ++i) {
    PlacedValue& result = values_[results[i].number];
    if (result.memory != kNone) continue;
    const PlacedValue& like = values_[first_results[i].number];
    result = {counterpart(like.memory), like.like, results[i]};
    for (std::size_t j = 0; j < own.size(); ++j)
      if (values_[firsts[j].number].same_as == like.same_as) result.same_as = values_[own[j].number].same_as;
  }
  return true;
}

void PlanSteps::add_step(PlanStep step, ArrayView<Tensor> outputs_of_step, ArrayView<Tensor> inputs_of_step,
                         const std::vector<PelScalar>& numbers_of_step) {
  step.operand = static_cast<std::uint32_t>(operands.size());
  step.outputs = static_cast<std::uint16_t>(outputs_of_step.size());
  step.inputs = static_cast<std::uint16_t>(inputs_of_step.size());
  step.number = static_cast<std::uint32_t>(numbers.size());
  step.numbers = static_cast<std::uint32_t>(numbers_of_step.size());
  numbers.insert(numbers.end(), numbers_of_step.begin(), numbers_of_step.end());
  const auto add = [&](const Tensor& t) {
    OperandFacts facts{.memory = memory_of(t),
                       .view = 0,
                       .tensor = static_cast<std::uint32_t>(operand_tensors_.size()),
                       .end = end_bytes(t)};
    operand_tensors_.push_back(t);
    fill_operand_of(operands.emplace_back(), t);
    locations.push_back(
        {used_buffer(facts.memory, facts.end), t.storage_offset().value() * size_bytes(t.dtype())});
    std::size_t same = step.operand;
    while (locations[same].offset != locations.back().offset ||
           !is_same_view(operands[same], operands.back()))
      ++same;
    facts.view = static_cast<std::uint32_t>(same - step.operand);
    operand_facts_.push_back(facts);
  };
  for (std::size_t o = 0; o < outputs_of_step.size(); ++o) {
    add(outputs_of_step[o]);
    note_write(step, o);
  }
  for (const Tensor& t : inputs_of_step) add(t);
  if (step.kernel.scratch_bytes != nullptr) add_scratch(step);
  steps.push_back(step);
}

// Notes that output `o` of a step is written, which was added last.
void PlanSteps::note_write(const PlanStep& step, std::size_t o) {
  const PlanBuffer& buffer = buffers[locations.back().buffer];
  if (buffer.home == PlanBuffer::Home::Constant) written_constants.push_back({steps.size(), buffer.number});
  if (buffer.home != PlanBuffer::Home::Input) return;
  const GraphNode& node = graph_->nodes[step.node];
  const bool is_one_of_several =
      (node.kind == NodeKind::FusedElementwise || node.kind == NodeKind::FusedGemm) && step.op == nullptr;
  const UserCall* const writer =
      is_one_of_several ? &call_with_result(node, std::get<ValueId>(node.results[o])) : step.call;
  written_inputs.push_back(
      {steps.size(), buffer.number, writer, describe(operand_tensors_[operand_facts_.back().tensor])});
}

// Scratch memory of a kernel lies in the arena.
void PlanSteps::add_scratch(PlanStep& step) {
  const auto known = known_operands(step);
  KernelArgs args = arguments_of(step, known.data(), numbers.data());
  args.context = step.kernel.context;
  const auto bytes = static_cast<std::int64_t>(step.kernel.scratch_bytes(args));
  if (bytes == 0) return;
  step.scratch = static_cast<std::uint32_t>(buffers.size());
  buffers.push_back({.bytes = bytes, .first = steps.size(), .last = steps.size()});
}

void PlanSteps::add_output(ValueId id) {
  const PlacedValue& value = values_[id.number];
  PlanOutput output;
  output.like = tensor_of(id);
  output.buffer = used_buffer(value.memory, end_bytes(output.like));
  PlanBuffer& buffer = buffers[output.buffer];
  output.is_base = is_base(value.same_as);  // a version of an input is the input
  if (buffer.home == PlanBuffer::Home::Temporary) {
    buffer.home = PlanBuffer::Home::Result;
    buffer.number = static_cast<std::uint32_t>(outputs.size());
  }
  while (!(values_[graph_->outputs[output.same_as].number].same_as == value.same_as)) ++output.same_as;
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

SmallVector<Operand, 8> PlanSteps::known_operands(const PlanStep& step) const {
  SmallVector<Operand, 8> known;
  for (std::size_t i = step.operand; i < step.operand + step.outputs + std::size_t{step.inputs}; ++i) {
    const PlanBuffer& buffer = buffers[locations[i].buffer];
    auto* base = unallocated_memory(device);
    if (buffer.home == PlanBuffer::Home::Constant)
      base = static_cast<std::byte*>(constants[buffer.number].raw_data());
    if (buffer.home == PlanBuffer::Home::Number) base = static_cast<std::byte*>(buffer.data);
    Operand operand = operands[i];
    operand.data = base + locations[i].offset;
    known.push_back(operand);
  }
  return known;
}

std::vector<LayoutBuffer> PlanSteps::layout_buffers() const {
  std::vector<LayoutBuffer> all;
  all.reserve(buffers.size());
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
  all.reserve(steps.size());
  for (const PlanStep& step : steps) {
    LayoutStep& added = all.emplace_back();
    added.overwrites = step.overwrites;
    const std::size_t inputs = step.operand + step.outputs, end = inputs + step.inputs;
    for (std::size_t i = step.operand; i < end; ++i) {
      const LayoutOperand operand{locations[i].buffer, operand_facts_[i].view};
      i < inputs ? added.outputs.push_back(operand) : added.inputs.push_back(operand);
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
