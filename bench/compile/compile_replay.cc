// A compiled function of 100 tiny kernels: the overhead of running its plan, per kernel.
#include <unordered_map>

#include <pellucid/pellucid.h>

#include "../support/server.h"
#include "compile/compiled_function.h"
#include "compile/fake_run.h"

namespace {

using pel::Tensor;
constexpr int kKernels = 100;
constexpr double kStart = 0.25;  // the value after each addition and multiplication of the chain

// Neither a sum over an axis nor a matmul fuses.
std::vector<Tensor> many_kernels(pel::ArrayView<Tensor> inputs) {
  Tensor x = inputs[0];
  for (int i = 0; i < kKernels; i += 2) x = pel::mm(pel::sum(x, {1}, pel::KeepDims::Yes), inputs[1]);
  return {x};
}

// The kernels of a graph with prepared arguments.
class Kernels {
 public:
  explicit Kernels(const pel::compiler::Graph& graph) {
    std::vector<pel::RecordedLaunch> launches;
    {
      const std::vector<std::int64_t> symbols = graph.sizes->hints();
      pel::compiler::FakeRun run(graph, symbols);
      for (const pel::compiler::GraphNode& node : graph.nodes)
        for (pel::RecordedLaunch& launch : run.call(node)) launches.push_back(std::move(launch));
    }
    operands_.reserve(launches.size());
    for (const pel::RecordedLaunch& launch : launches) {
      std::vector<pel::Operand>& operands = operands_.emplace_back();
      for (const auto* list : {&launch.outputs, &launch.inputs}) {
        for (const Tensor& like : *list) {
          Tensor& made = real_[like.header()->storage];
          if (!made.defined()) made = pel::full(like.sizes(), kStart, like.dtype());
          pel::fill_operand_of(operands.emplace_back(), made);
        }
      }
      numbers_.push_back(launch.numbers);
      kernels_.push_back(launch.kernel);
    }
    for (std::size_t i = 0; i < launches.size(); ++i) {
      args_.push_back({PEL_KERNEL_ARGS_VERSION, static_cast<std::uint16_t>(launches[i].outputs.size()),
                       static_cast<std::uint16_t>(launches[i].inputs.size()), operands_[i].data(),
                       numbers_[i].data(), static_cast<std::uint32_t>(numbers_[i].size()), 0, nullptr, 0,
                       kernels_[i]->context});
    }
  }
  void run() const {
    pel::Stream stream(pel::kCpu);
    for (std::size_t i = 0; i < kernels_.size(); ++i) kernels_[i]->run(stream, args_[i]);
  }
  std::size_t count() const { return kernels_.size(); }

 private:
  std::unordered_map<const void*, Tensor> real_;  // by the storage of its placeholder
  std::vector<std::vector<pel::Operand>> operands_;
  std::vector<std::vector<pel::PelScalar>> numbers_;
  std::vector<const pel::Kernel*> kernels_;
  std::vector<pel::KernelArgs> args_;
};

}  // namespace

int main(int argc, char** argv) {
  pel::set_thread_count(1);
  const pel::InferenceMode inference;
  const std::vector<Tensor> inputs{pel::full({4, 4}, kStart), pel::full({1, 4}, kStart)};
  pel::compiler::CompiledFunction function(many_kernels);
  const auto plan = function.plan_for(inputs);
  const Kernels kernels(function.graphs()[0]->graph);
  if (kernels.count() != kKernels || plan->kernels().size() != kKernels) {
    std::cerr << "not " << kKernels << " kernels:\n" << plan->text();
    return 1;
  }
  bench::Case replay("a_kernel", [&] { return plan->run(inputs); });
  const bench::Case alone("alone", [&] { kernels.run(); });
  // The difference of the fastest of many short runs: the difference of two long runs is mostly noise.
  replay.measure = [&, repeat = replay.repeat](std::int64_t) {
    double with_plan = 1e18, without = 1e18;
    for (int turn = 0; turn < 100; ++turn) {
      without = std::min(without, bench::detail::nanoseconds_of(alone.repeat, 10));
      with_plan = std::min(with_plan, bench::detail::nanoseconds_of(repeat, 10));
    }
    return (with_plan - without) / kKernels;
  };
  return bench::serve(argc, argv, {&replay, 1});
}
