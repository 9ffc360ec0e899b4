// A function whose inputs are described: its graphs, and a plan for each tuple of numbers. The numbers of a
// call are all that a plan depends on, so finding one compares no tensors.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <vector>

#include "pellucid/compile_ahead.h"

#include "compile/compiled_function.h"

namespace pel::compiler {

class AheadFunction {
 public:
  AheadFunction(std::vector<CallNumber> numbers, CompiledAhead::Describe describe, CompiledAhead::Body body,
                const PassOptions& options);

  std::vector<Tensor> operator()(ArrayView<void*> data, ArrayView<std::int64_t> numbers,
                                 const CompiledAhead::AfterLastUse& after_last_use);

  std::vector<std::shared_ptr<const CompiledGraph>> graphs() const;
  std::size_t plans() const;
  std::shared_ptr<const Plan> plan_for(ArrayView<std::int64_t> numbers);
  std::shared_ptr<const CompiledGraph> graph_for(ArrayView<std::int64_t> numbers);
  // The plan that was made at the sizes of the graph's first call; null if it has been dropped.
  std::shared_ptr<const Plan> first_plan_of(const CompiledGraph& graph) const;

 private:
  // A plan with tensors for its inputs, which calls point at their memory. Calls that run at the same time
  // have tensors of their own.
  struct Ready {
    std::shared_ptr<const CompiledGraph> graph;
    std::shared_ptr<const Plan> plan;
    std::vector<std::int64_t> numbers;
    std::mutex mutex;
    std::vector<std::vector<Tensor>> free_inputs;

    std::vector<Tensor> take_inputs();
    void give_back(std::vector<Tensor> inputs);
    Tensor make_input(std::size_t number) const;
  };
  // Modes of the thread, then the numbers.
  using Signature = std::vector<std::int64_t>;
  struct SignatureHash {
    std::size_t operator()(const Signature& words) const;
  };
  std::shared_ptr<Ready> find(const Signature& signature) const;
  std::shared_ptr<Ready> make(const Signature& signature, const std::vector<std::int64_t>& numbers);
  std::shared_ptr<Ready> ready_for(ArrayView<std::int64_t> numbers);

  std::vector<CallNumber> numbers_;
  CompiledAhead::Describe describe_;
  CompiledAhead::Body body_;
  PassOptions options_;
  std::mutex making_;                // one thread captures and plans at a time
  mutable std::shared_mutex mutex_;  // of what follows
  std::vector<std::shared_ptr<const CompiledGraph>> graphs_;
  std::unordered_map<Signature, std::shared_ptr<Ready>, SignatureHash> ready_;
  std::deque<Signature> made_;  // keys of ready_, the oldest first
};

}  // namespace pel::compiler
