#include "pellucid/compile.h"

#include "base/check.h"
#include "compile/compiled_function.h"
#include "compile/explain.h"

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
  return function_->plan_for(inputs)->kernels();
}
std::int64_t CompiledTensors::peak_bytes(ArrayView<Tensor> inputs) const {
  return function_->plan_for(inputs)->peak_bytes();
}
std::string CompiledTensors::graph() const {
  std::string text;
  for (const auto& captured : function_->graphs()) text += to_string(captured->graph);
  return text;
}
CompileExplanation CompiledTensors::explain() const {
  CompileExplanation made;
  for (const auto& compiled : function_->graphs()) {
    const std::vector<std::int64_t>& symbols = compiled->graph.sizes->hints();
    made.graphs.push_back(
        compiler::explain(*compiled, compiler::Plan(compiled->graph, compiled->loops, symbols), symbols));
  }
  return made;
}
CompileExplanation CompiledTensors::explain(ArrayView<Tensor> inputs) const {
  const std::shared_ptr<const compiler::Plan> plan = function_->plan_for(inputs);
  const std::shared_ptr<const compiler::CompiledGraph> compiled = function_->graph_for(inputs);
  const auto symbols = compiled->guards.match(compiled->graph, compiled->gradients.after(inputs));
  PEL_CHECK(symbols, InternalError, "the graph that was found for these inputs does not accept them");
  return {{compiler::explain(*compiled, *plan, *symbols)}};
}

}  // namespace pel::detail
