#include "pellucid/compile.h"

#include "pellucid/compile_ahead.h"
#include "pellucid/profile.h"

#include "base/check.h"
#include "compile/ahead_function.h"
#include "compile/compiled_function.h"
#include "compile/explanation/explain.h"

namespace pel::compiler {
namespace {

std::string text_of(const std::vector<std::shared_ptr<const CompiledGraph>>& graphs) {
  std::string text;
  for (const auto& captured : graphs) text += to_string(captured->graph);
  return text;
}
// Each graph at the sizes of its first call.
template <class Function>
CompileExplanation explain_all(const Function& function) {
  CompileExplanation made;
  for (const auto& compiled : function.graphs()) {
    const std::vector<std::int64_t>& symbols = compiled->graph.sizes->hints();
    std::shared_ptr<const Plan> plan = function.first_plan_of(*compiled);
    if (plan == nullptr)
      plan = std::make_shared<Plan>(compiled->graph, compiled->loops, symbols, compiled->weights.get());
    made.graphs.push_back(explain(*compiled, *plan, symbols));
  }
  return made;
}

}  // namespace
}  // namespace pel::compiler

namespace pel::detail {

CompiledTensors::CompiledTensors(std::function<std::vector<Tensor>(ArrayView<Tensor>)> f,
                                 const CompileOptions& options)
    : function_(std::make_shared<compiler::CompiledFunction>(
          std::move(f), options.verifies_host_code ? compiler::Replays::Verified : compiler::Replays::Trusted,
          compiler::PassOptions{options.memory_budget_bytes})) {}

std::vector<Tensor> CompiledTensors::operator()(ArrayView<Tensor> inputs) const {
  return (*function_)(inputs);
}
std::size_t CompiledTensors::compiles() const { return function_->captures(); }
std::size_t CompiledTensors::plans() const { return function_->plans(); }
std::vector<std::string> CompiledTensors::kernels(ArrayView<Tensor> inputs) const {
  return function_->plan_for(inputs)->kernels(inputs);
}
std::int64_t CompiledTensors::peak_bytes(ArrayView<Tensor> inputs) const {
  const std::shared_ptr<const compiler::Plan> plan = function_->plan_for(inputs);
  return plan->peak_bytes() + plan->packing_bytes(inputs);
}
std::string CompiledTensors::graph() const { return compiler::text_of(function_->graphs()); }
CompileExplanation CompiledTensors::explain() const { return compiler::explain_all(*function_); }
CompileExplanation CompiledTensors::explain(ArrayView<Tensor> inputs) const {
  const std::shared_ptr<const compiler::Plan> plan = function_->plan_for(inputs);
  const std::shared_ptr<const compiler::CompiledGraph> compiled = function_->graph_for(inputs);
  const auto symbols = compiled->guards.match(compiled->graph, compiled->gradients.after(inputs));
  PEL_CHECK(symbols, InternalError, "the graph that was found for these inputs does not accept them");
  return {{compiler::explain(*compiled, *plan, *symbols, inputs)}};
}
CompileExplanation CompiledTensors::explain_measured(ArrayView<Tensor> inputs) const {
  // Threads of kernels are known after one call, and weights are packed by the second.
  for (int i = 0; i < 2; ++i) (*function_)(inputs);
  CompileExplanation made = explain(inputs);
  constexpr int kMeasuredCalls = 7;
  Profile profile;
  for (int i = 0; i < kMeasuredCalls; ++i) (*function_)(inputs);
  made.add_times(profile);
  return made;
}

}  // namespace pel::detail

namespace pel {

CompiledAhead::CompiledAhead(std::vector<CallNumber> numbers, Describe describe, Body body,
                             const CompileOptions& options)
    : function_(
          std::make_shared<compiler::AheadFunction>(std::move(numbers), std::move(describe), std::move(body),
                                                    compiler::PassOptions{options.memory_budget_bytes})) {}

std::vector<Tensor> CompiledAhead::operator()(ArrayView<void*> data, ArrayView<std::int64_t> numbers,
                                              const AfterLastUse& after_last_use) const {
  return (*function_)(data, numbers, after_last_use);
}
std::size_t CompiledAhead::compiles() const { return function_->graphs().size(); }
std::size_t CompiledAhead::plans() const { return function_->plans(); }
std::vector<std::string> CompiledAhead::kernels(ArrayView<std::int64_t> numbers) const {
  return function_->plan_for(numbers)->kernels();
}
std::int64_t CompiledAhead::peak_bytes(ArrayView<std::int64_t> numbers) const {
  const std::shared_ptr<const compiler::Plan> plan = function_->plan_for(numbers);
  return plan->peak_bytes() + plan->packing_bytes({});
}
std::string CompiledAhead::graph() const { return compiler::text_of(function_->graphs()); }
CompileExplanation CompiledAhead::explain() const { return compiler::explain_all(*function_); }
CompileExplanation CompiledAhead::explain(ArrayView<std::int64_t> numbers) const {
  const std::shared_ptr<const compiler::Plan> plan = function_->plan_for(numbers);
  return {{compiler::explain(*function_->graph_for(numbers), *plan, numbers.vec())}};
}

}  // namespace pel
