#include "compile/ahead_function.h"

#include <algorithm>

#include <fmt/format.h>

#include "pellucid/autograd.h"

#include "base/check.h"
#include "base/environment.h"

namespace pel::compiler {
namespace {

alignas(64) std::byte no_memory[64];  // where tensors without elements begin, and inputs between calls

}  // namespace

Tensor AheadFunction::Ready::make_input(std::size_t number) const {
  const GraphValue& value = graph->graph[graph->graph.inputs[number]];
  External memory;
  memory.data = no_memory;
  memory.dtype = value.dtype;
  for (const Dim size : value.sizes) memory.sizes.push_back(graph->graph.sizes->evaluate(size, numbers));
  for (const Dim stride : value.strides)
    memory.strides.push_back(graph->graph.sizes->evaluate(stride, numbers));
  return from_external(std::move(memory));
}
std::vector<Tensor> AheadFunction::Ready::take_inputs() {
  {
    const std::lock_guard lock(mutex);
    if (!free_inputs.empty()) {
      std::vector<Tensor> inputs = std::move(free_inputs.back());
      free_inputs.pop_back();
      return inputs;
    }
  }
  std::vector<Tensor> inputs(graph->graph.inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) inputs[i] = make_input(i);
  return inputs;
}
void AheadFunction::Ready::give_back(std::vector<Tensor> inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const detail::TensorHeader& header = *inputs[i].header();
    const bool is_alone = header.refs.load(std::memory_order_acquire) == 1 &&
                          header.storage->refs.load(std::memory_order_acquire) == 1;
    if (is_alone) {
      header.storage->data = no_memory;
    } else {
      inputs[i] = make_input(i);  // an output refers to the old one
    }
  }
  const std::lock_guard lock(mutex);
  free_inputs.push_back(std::move(inputs));
}

std::size_t AheadFunction::SignatureHash::operator()(const Signature& words) const {
  std::uint64_t hash = words.size();
  for (const std::int64_t word : words)
    hash = (hash ^ static_cast<std::uint64_t>(word)) * 0x9e3779b97f4a7c15, hash ^= hash >> 29;
  return hash;
}

AheadFunction::AheadFunction(std::vector<CallNumber> numbers, CompiledAhead::Describe describe,
                             CompiledAhead::Body body, const PassOptions& options)
    : numbers_(std::move(numbers)),
      describe_(std::move(describe)),
      body_(std::move(body)),
      options_(options) {
  std::vector<std::int64_t> examples;
  for (const CallNumber& number : numbers_) examples.push_back(number.example);
  ready_for(examples);
}

std::vector<std::shared_ptr<const CompiledGraph>> AheadFunction::graphs() const {
  const std::shared_lock lock(mutex_);
  return graphs_;
}
std::size_t AheadFunction::plans() const {
  const std::shared_lock lock(mutex_);
  return ready_.size();
}

std::shared_ptr<AheadFunction::Ready> AheadFunction::find(const Signature& signature) const {
  const std::shared_lock lock(mutex_);
  const auto found = ready_.find(signature);
  return found == ready_.end() ? nullptr : found->second;
}

std::shared_ptr<AheadFunction::Ready> AheadFunction::make(const Signature& signature,
                                                          const std::vector<std::int64_t>& numbers) {
  const std::lock_guard making(making_);
  if (auto found = find(signature)) return found;
  std::shared_ptr<const CompiledGraph> serving;
  std::string reason;
  for (const auto& captured : graphs()) {
    if (captured->modes != call_modes()) {
      reason = kOtherModes;
    } else if (captured->guards.sizes_fit(captured->graph, numbers, &reason)) {
      serving = captured;
      break;
    }
    log_recompile(reason);
  }
  const bool is_new = serving == nullptr;
  if (is_new) {
    std::vector<CallNumber> now = numbers_;
    for (std::size_t i = 0; i < now.size(); ++i) now[i].example = numbers[i];
    serving = compile_captured([&] { return capture(now, describe_, body_); }, Replays::Trusted, options_);
  }
  auto ready = std::make_shared<Ready>();
  ready->graph = serving;
  ready->numbers = numbers;
  ready->plan = std::make_shared<Plan>(serving->graph, serving->loops, numbers, serving->weights.get());
  const std::lock_guard lock(mutex_);
  if (is_new) graphs_.push_back(serving);
  if (ready_.size() == kMaxPlans) {
    ready_.erase(made_.front());
    made_.pop_front();
  }
  ready_.emplace(signature, ready);
  made_.push_back(signature);
  return ready;
}

std::shared_ptr<AheadFunction::Ready> AheadFunction::ready_for(ArrayView<std::int64_t> numbers) {
  PEL_CHECK(numbers.size() == numbers_.size(), ValueError,
            "a call passes {} numbers, but the function was compiled with {}", numbers.size(),
            numbers_.size());
  const NoGrad no_grad;
  Signature signature{call_modes()};
  signature.insert(signature.end(), numbers.begin(), numbers.end());
  if (auto found = find(signature)) return found;
  for (std::size_t i = 0; i < numbers.size(); ++i)
    PEL_CHECK(numbers[i] >= 0 || numbers_[i].kind == CallNumber::Kind::Any, ValueError,
              "{} is {}: sizes and strides are not negative", numbers_[i].name, numbers[i]);
  return make(signature, numbers.vec());
}

std::shared_ptr<const Plan> AheadFunction::plan_for(ArrayView<std::int64_t> numbers) {
  return ready_for(numbers)->plan;
}
std::shared_ptr<const CompiledGraph> AheadFunction::graph_for(ArrayView<std::int64_t> numbers) {
  return ready_for(numbers)->graph;
}

std::shared_ptr<const Plan> AheadFunction::first_plan_of(const CompiledGraph& graph) const {
  const std::shared_lock lock(mutex_);
  const auto& sizes = graph.graph.sizes->hints();
  const auto found = std::ranges::find_if(ready_, [&](const auto& entry) {
    return entry.second->graph.get() == &graph && entry.second->plan->symbols() == sizes;
  });
  return found == ready_.end() ? nullptr : found->second->plan;
}

std::vector<Tensor> AheadFunction::operator()(ArrayView<void*> data, ArrayView<std::int64_t> numbers,
                                              const CompiledAhead::AfterLastUse& after_last_use) {
  const std::shared_ptr<Ready> ready = ready_for(numbers);
  std::vector<Tensor> inputs = ready->take_inputs();
  PEL_CHECK(data.size() == inputs.size(), ValueError, "a call passes {} inputs, but {} were described",
            data.size(), inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    PEL_CHECK(data[i] != nullptr || inputs[i].numel() == 0, ValueError, "input {} is null", i);
    if (data[i] != nullptr) inputs[i].header()->storage->data = static_cast<std::byte*>(data[i]);
  }
  const NoGrad no_grad;
  std::vector<Tensor> outputs = ready->plan->run(inputs, after_last_use);
  ready->give_back(std::move(inputs));
  return outputs;
}

}  // namespace pel::compiler
