// Which step of a plan wrote what another one reads: the arrows between kernels in an explanation.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "pellucid/compile_explanation.h"

#include "compile/graph.h"
#include "compile/plan_steps.h"

namespace pel::compiler {

struct FlowOperand {
  std::optional<ValueId> value;      // none: memory that is used inside of one call
  const Operand* operand = nullptr;  // of the plan; null for a result of the plan
  CompileExplanation::Operand::From from = CompileExplanation::Operand::From::Kernel;
  std::size_t number = 0, output = 0;  // as CompileExplanation::Operand has them
  std::vector<CompileExplanation::Operand::Part> parts{};
};

struct DataFlow {
  struct Step {
    std::vector<FlowOperand> reads, writes;
  };
  std::vector<Step> steps;
  std::vector<FlowOperand> results;
};

// `graph` is the one that the plan was made of.
DataFlow data_flow(const Graph& graph, const PlanSteps& plan);

}  // namespace pel::compiler
