#include "compile/data_flow.h"

#include <unordered_map>

#include "profile/kernel_span.h"

namespace pel::compiler {
namespace {

using From = CompileExplanation::Operand::From;
using Part = CompileExplanation::Operand::Part;

From from_home(PlanBuffer::Home home) {
  switch (home) {
    case PlanBuffer::Home::Input:
      return From::Input;
    case PlanBuffer::Home::Constant:
      return From::Constant;
    case PlanBuffer::Home::Number:
      return From::Number;
    default:
      return From::Kernel;
  }
}

class Flow {
 public:
  Flow(const Graph& graph, const PlanSteps& plan) : graph_(graph), plan_(plan) {}

  DataFlow run() {
    for (std::size_t s = 0; s < plan_.steps.size(); ++s) add_step(s);
    for (std::size_t i = 0; i < plan_.outputs.size(); ++i) {
      FlowOperand& result = made_.results.emplace_back();
      result.value = graph_.outputs[i];
      find_writer(result, plan_.memory_of_value(graph_.outputs[i]), plan_.buffers[plan_.outputs[i].buffer]);
    }
    return std::move(made_);
  }

 private:
  void add_step(std::size_t number) {
    const PlanStep& step = plan_.steps[number];
    const GraphNode& node = graph_.nodes[step.node];
    const ValueList args = values_in(node.args), results = values_in(node.results);
    DataFlow::Step& made = made_.steps.emplace_back();
    const std::size_t inputs = step.operand + step.outputs;
    for (std::size_t i = inputs; i < inputs + step.inputs; ++i) {
      FlowOperand& read = made.reads.emplace_back();
      read.operand = &plan_.operands[i];
      read.value = value_in(args, i);
      if (!read.value) read.value = value_in(results, i);
      find_writer(read, plan_.memory_of_operand(i), buffer_of(i));
    }
    for (std::size_t i = step.operand; i < inputs; ++i) {
      FlowOperand& written = made.writes.emplace_back();
      written.operand = &plan_.operands[i];
      written.value = value_in(results, i);
      written.from = from_home(buffer_of(i).home);
      written.number = written.from == From::Kernel ? number : buffer_of(i).number;
      written.output = i - step.operand;
      std::vector<Part>& writers = writers_[plan_.memory_of_operand(i)];
      if (covers_all(i)) writers.clear();
      writers.push_back({number, written.output});
    }
  }

  const PlanBuffer& buffer_of(std::size_t operand) const {
    return plan_.buffers[plan_.locations[operand].buffer];
  }

  bool covers_all(std::size_t operand) const {
    return profile::bytes_addressed(plan_.operands[operand]) >=
           static_cast<std::uint64_t>(buffer_of(operand).bytes);
  }

  std::optional<ValueId> value_in(const ValueList& values, std::size_t operand) const {
    for (const ValueId value : values)
      if (plan_.memory_of_value(value) == plan_.memory_of_operand(operand)) return value;
    return std::nullopt;
  }

  void find_writer(FlowOperand& read, std::uint32_t memory, const PlanBuffer& buffer) const {
    if (const auto found = writers_.find(memory); found != writers_.end()) {
      read.from = From::Kernel;
      read.number = found->second.back().kernel;
      read.output = found->second.back().output;
      read.parts.assign(found->second.begin(), found->second.end() - 1);
      return;
    }
    read.from = from_home(buffer.home);
    read.number = buffer.number;
  }

  const Graph& graph_;
  const PlanSteps& plan_;
  DataFlow made_;
  // By memory: the last write to all of it so far, and those to parts since then.
  std::unordered_map<std::uint32_t, std::vector<Part>> writers_;
};

}  // namespace

DataFlow data_flow(const Graph& graph, const PlanSteps& plan) { return Flow(graph, plan).run(); }

}  // namespace pel::compiler
