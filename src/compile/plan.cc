#include "compile/plan.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/readable.h"
#include "choice/choice.h"
#include "compile/gemm_calls.h"
#include "device/registry.h"
#include "profile/kernel_span.h"

namespace pel::compiler {
namespace {

// Why a kernel was chosen from the list of an op, without asking what tuning would measure.
std::string reason_for(const PlanStep& step, DeviceType device, KernelArgs args) {
  std::string refusals;
  std::size_t candidates = 0;
  for (const Kernel& kernel : step.op->kernels(device)) {
    if (!is_candidate(kernel, step.computation)) continue;
    ++candidates;
    args.context = kernel.context;
    if (const Support support = takes(kernel, args); !support)
      refusals += fmt::format("; {} does not: {}", kernel.name, support.reason());
  }
  args.context = step.kernel.context;
  if (step.kernel.predict != nullptr)
    return fmt::format("the least predicted time, {}{}", readable_ns(step.kernel.predict(args)), refusals);
  return candidates == 1 ? "the only one of its kind" : "the first that takes the call" + refusals;
}

// As the profiler has it.
std::string full_name(const Kernel& kernel, const KernelArgs& args) {
  return kernel.describe == nullptr ? kernel.name : kernel.describe(args);
}

}  // namespace

Plan::Plan(const Graph& graph, const CompiledLoops& loops, const std::vector<std::int64_t>& symbols,
           PackedWeights* weights)
    : symbols_(symbols),
      plan_(graph, loops, symbols),
      layout_(lay_out(plan_.layout_buffers(), plan_.layout_steps())),
      packed_weights_(weights) {
  plan_.apply(layout_);
  for (const PlanBuffer& buffer : plan_.buffers)
    if (buffer.home == PlanBuffer::Home::Input && buffer.last < plan_.steps.size())
      last_uses_.push_back({buffer.last, buffer.number});
  std::ranges::sort(last_uses_, {}, &LastUse::step);
  if (!plan_.written_inputs.empty())
    for (const Tensor& constant : plan_.constants) held_memory_.insert(constant.header()->storage);
  for (const WrittenConstant& written : plan_.written_constants)
    written_memory_.insert(plan_.constants[written.number].header()->storage);
  if (packed_weights_ != nullptr) find_weights(graph);
  if (is_asynchronous(plan_.device)) queued_ = std::make_shared<const QueuedCode>(graph, plan_, loops.code);
}

Plan::QueuedCode::QueuedCode(const Graph& graph, const PlanSteps& plan, std::shared_ptr<const void> code)
    : device(plan.device), loops(std::move(code)) {
  for (const PlanStep& step : plan.steps) kernels.push_back(step.kernel);
  if (!has_own_kernels(device_of(device))) return;
  prepared = std::vector<PreparedKernel>(kernels.size());
  for (const PlanStep& step : plan.steps)
    draws.push_back(std::ranges::any_of(
        plan.draws, [&](const RandomDraw& draw) { return draw.node == &graph.nodes[step.node]; }));
  if (!device_of(device).facts().has_replays) return;
  replay.emplace();
  for (std::size_t s = 0; s < draws.size() && replay->refusal.empty(); ++s)
    if (draws[s])
      replay->refusal =
          fmt::format("{} draws random numbers, which are others in each run", plan.steps[s].op_name);
}

Plan::QueuedCode::~QueuedCode() {
  if (prepared.empty()) return;
  if (OrderedDevice* const of = find_device(device)) of->drop(prepared, replay ? &*replay : nullptr);
}

PreparedKernel* Plan::QueuedCode::prepared_at(std::size_t step) const {
  return prepared.empty() || draws[step] ? nullptr : &prepared[step];
}

Plan::~Plan() {
  if (queued_ == nullptr) return;
  try {
    device_of(plan_.device).keep_until_passed(queued_);
  } catch (...) {  // no memory, or a device that is lost: launches may still refer to the code
    static_cast<void>(new std::shared_ptr<const QueuedCode>(queued_));
  }
}

void Plan::find_weights(const Graph& graph) {
  const Packer* const packer = packer_of(plan_.device.type);
  if (packer == nullptr) return;
  const auto is_written = [&](const PlanBuffer& buffer) {
    const auto is_it = [&](const auto& written) { return written.number == buffer.number; };
    return buffer.home == PlanBuffer::Home::Input ? std::ranges::any_of(plan_.written_inputs, is_it)
                                                  : std::ranges::any_of(plan_.written_constants, is_it);
  };
  for (const PlanStep& step : plan_.steps) {
    if (!packer->reads_panels(step.kernel)) continue;
    std::size_t operand = step.operand + step.outputs;  // the left one, before those on the right
    for (const ValueId value : right_matrices(graph.nodes[step.node])) {
      const Operand& matrix = plan_.operands[++operand];
      const PlanBuffer& buffer = plan_.buffers[plan_.locations[operand].buffer];
      const bool is_known = std::ranges::any_of(weights_, [&](const Weight& w) { return w.value == value; });
      if (is_known || matrix.rank != 2 ||
          (buffer.home != PlanBuffer::Home::Input && buffer.home != PlanBuffer::Home::Constant))
        continue;
      weights_.push_back(
          {value, plan_.locations[operand],
           MatrixView{nullptr, matrix.sizes[0], matrix.sizes[1], matrix.strides[0], matrix.strides[1]},
           static_cast<DType>(matrix.dtype), packed_weights_->slot_of(value),
           is_written(buffer) ? "the function writes to it" : nullptr});
    }
  }
}

std::optional<PackedWeights::Weight> Plan::weight_in_call(const Weight& weight,
                                                          ArrayView<Tensor> inputs) const {
  const PlanBuffer& buffer = plan_.buffers[weight.location.buffer];
  if (buffer.home == PlanBuffer::Home::Input && inputs.size() <= buffer.number) return std::nullopt;
  const Tensor& memory =
      buffer.home == PlanBuffer::Home::Input ? inputs[buffer.number] : plan_.constants[buffer.number];
  MatrixView view = weight.view;
  view.data = static_cast<const std::byte*>(memory.raw_data()) + weight.location.offset;
  return PackedWeights::Weight{weight.slot,
                               {view, weight.dtype, plan_.device.type, memory.header()->storage}};
}

SmallVector<PackedWeights::Weight, 16> Plan::weights_in_call(ArrayView<Tensor> inputs) const {
  SmallVector<PackedWeights::Weight, 16> all;
  for (const Weight& weight : weights_) {
    if (weight.refusal != nullptr) continue;
    if (const auto in_call = weight_in_call(weight, inputs)) all.push_back(*in_call);
  }
  return all;
}

std::int64_t Plan::packing_bytes(ArrayView<Tensor> inputs) const {
  return weights_.empty() ? 0 : packed_weights_->forecast_bytes(weights_in_call(inputs));
}

std::vector<Plan::PackedWeight> Plan::packed_weights(ArrayView<Tensor> inputs) const {
  std::vector<PackedWeight> all;
  for (const Weight& weight : weights_) {
    PackedWeight& made = all.emplace_back();
    made.value = weight.value;
    if (weight.refusal != nullptr) {
      made.state.reason = weight.refusal;
    } else if (const auto in_call = weight_in_call(weight, inputs)) {
      made.state = packed_weights_->state(*in_call);
    } else {
      made.state.reason = "it is an input: ask for the explanation of a call with it";
    }
  }
  return all;
}

SmallVector<Operand, 8> Plan::known_operands(const PlanStep& step, ArrayView<Tensor> inputs) const {
  SmallVector<Operand, 8> known = plan_.known_operands(step);
  for (std::size_t i = 0; i < known.size(); ++i) {
    const OperandLocation& location = plan_.locations[step.operand + i];
    const PlanBuffer& buffer = plan_.buffers[location.buffer];
    if (buffer.home == PlanBuffer::Home::Input && buffer.number < inputs.size())
      known[i].data = static_cast<std::byte*>(inputs[buffer.number].raw_data()) + location.offset;
  }
  return known;
}

std::vector<std::string> Plan::kernels(ArrayView<Tensor> inputs) const {
  std::vector<std::string> names;
  for (const PlanStep& step : plan_.steps) {
    const auto operands = known_operands(step, inputs);
    KernelArgs args = PlanSteps::arguments_of(step, operands.data(), plan_.numbers.data());
    args.context = step.kernel.context;
    names.push_back(full_name(step.kernel, args));
  }
  return names;
}

std::vector<PlannedKernel> Plan::planned_kernels(ArrayView<Tensor> inputs) const {
  std::vector<PlannedKernel> kernels;
  const std::optional<std::vector<StepLoop>> loops = loops_.known();
  for (const PlanStep& step : plan_.steps) {
    const auto operands = known_operands(step, inputs);
    KernelArgs args = PlanSteps::arguments_of(step, operands.data(), plan_.numbers.data());
    args.context = step.kernel.context;
    PlannedKernel& kernel = kernels.emplace_back();
    kernel.name = full_name(step.kernel, args);
    kernel.node = step.node;
    kernel.is_whole_node = step.op == nullptr;
    profile::add_bytes(args, kernel.bytes_read, kernel.bytes_written);
    kernel.reason =
        step.op == nullptr ? "compiled for this graph" : reason_for(step, kernels_of(plan_.device), args);
    if (loops) kernel.threads = threads_of(*loops, kernels.size() - 1);
    kernel.predicted_ns = step.kernel.predict != nullptr
                              ? step.kernel.predict(args)
                              : kernel.threads.work_ns / std::max(1, kernel.threads.count);
  }
  return kernels;
}

std::optional<std::pair<std::string, std::string>> Plan::replay() const {
  if (queued_ == nullptr || !queued_->replay) return std::nullopt;
  return device_of(plan_.device).explain(*queued_->replay);
}

std::string Plan::text() const {
  std::string lines;
  const auto location = [&](std::size_t operand) {
    const OperandLocation& at = plan_.locations[operand];
    const PlanBuffer& buffer = plan_.buffers[at.buffer];
    const MemoryLayout::Slot& slot = layout_.slots[at.buffer];
    switch (buffer.home) {
      case PlanBuffer::Home::Input:
        return fmt::format("input {}", buffer.number);
      case PlanBuffer::Home::Temporary:
        if (slot.is_alone) return fmt::format("alone {}", at.buffer);
        return slot.host
                   ? fmt::format("result {} at {}", plan_.buffers[*slot.host].number, slot.offset + at.offset)
                   : fmt::format("arena {}", slot.offset + at.offset);
      case PlanBuffer::Home::Result:
        return fmt::format("result {}", buffer.number);
      case PlanBuffer::Home::Constant:
        return fmt::format("constant {}", buffer.number);
      case PlanBuffer::Home::Number:
        return std::string("number");
    }
    return std::string();
  };
  for (const PlanStep& step : plan_.steps) {
    lines += step.kernel.name;
    for (std::size_t i = 0; i < std::size_t{step.outputs} + step.inputs; ++i) {
      const char* const separator = i == 0 ? "  " : i == step.outputs ? " <- " : ", ";
      lines += separator + location(step.operand + i);
    }
    lines += '\n';
  }
  return lines + fmt::format("arena of {} bytes\n", layout_.arena_bytes);
}

}  // namespace pel::compiler
