#include "pellucid/compile.h"

#include "compile/compiled_function.h"

namespace pel::detail {

CompiledTensors::CompiledTensors(std::function<std::vector<Tensor>(ArrayView<Tensor>)> f,
                                 const CompileOptions& options)
    : function_(std::make_shared<compiler::CompiledFunction>(
          std::move(f),
          options.verifies_host_code ? compiler::Replays::Verified : compiler::Replays::Trusted)) {}

std::vector<Tensor> CompiledTensors::operator()(ArrayView<Tensor> inputs) const {
  return (*function_)(inputs);
}
std::size_t CompiledTensors::compiles() const { return function_->captures(); }
std::size_t CompiledTensors::plans() const { return function_->plans(); }
std::vector<std::string> CompiledTensors::kernels(ArrayView<Tensor> inputs) const {
  return function_->plan_for(inputs)->kernels();
}
std::string CompiledTensors::graph() const {
  std::string text;
  for (const auto& captured : function_->graphs()) text += to_string(captured->graph);
  return text;
}
std::string CompiledTensors::explain() const {
  std::string text;
  for (const auto& captured : function_->graphs()) text += captured->why.text();
  return text;
}

}  // namespace pel::detail
