#include "compile/plan.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/readable.h"
#include "choice/choice.h"
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

Plan::Plan(const Graph& graph, const CompiledLoops& loops, const std::vector<std::int64_t>& symbols)
    : symbols_(symbols),
      plan_(graph, loops, symbols),
      layout_(lay_out(plan_.layout_buffers(), plan_.layout_steps())) {
  plan_.apply(layout_);
  for (const PlanBuffer& buffer : plan_.buffers)
    if (buffer.home == PlanBuffer::Home::Input && buffer.last < plan_.steps.size())
      last_uses_.push_back({buffer.last, buffer.number});
  std::ranges::sort(last_uses_, {}, &LastUse::step);
  if (!plan_.written_inputs.empty())
    for (const Tensor& constant : plan_.constants) held_memory_.insert(constant.header()->storage);
  for (const std::uint32_t written : plan_.written_constants)
    written_memory_.insert(plan_.constants[written].header()->storage);
}

std::vector<std::string> Plan::kernels() const {
  std::vector<std::string> names;
  for (const PlanStep& step : plan_.steps) {
    KernelArgs args =
        PlanSteps::arguments_of(step, plan_.operands.data() + step.operand, plan_.numbers.data());
    args.context = step.kernel.context;
    names.push_back(full_name(step.kernel, args));
  }
  return names;
}

std::vector<PlannedKernel> Plan::planned_kernels() const {
  std::vector<PlannedKernel> kernels;
  const std::optional<std::vector<StepLoop>> loops = loops_.known();
  for (const PlanStep& step : plan_.steps) {
    const auto operands = plan_.known_operands(step);
    KernelArgs args = PlanSteps::arguments_of(step, operands.data(), plan_.numbers.data());
    args.context = step.kernel.context;
    PlannedKernel& kernel = kernels.emplace_back();
    kernel.name = full_name(step.kernel, args);
    kernel.node = step.node;
    kernel.is_whole_node = step.op == nullptr;
    profile::add_bytes(args, kernel.bytes_read, kernel.bytes_written);
    kernel.reason =
        step.op == nullptr ? "compiled for this graph" : reason_for(step, plan_.device.type, args);
    if (loops) kernel.threads = threads_of(*loops, kernels.size() - 1);
  }
  return kernels;
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
