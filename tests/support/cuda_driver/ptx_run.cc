#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>
#include <random>

#include "support/cuda_driver/ptx_thread.h"

namespace pel::test::ptx {
namespace {

std::atomic<std::uint64_t> executed{0};
constexpr std::uint64_t kMaxInstructions = std::uint64_t{1} << 32;  // of a thread

class BlockRun {
 public:
  BlockRun(const Function& function, const Dim3& grid, const Dim3& block, const Dim3& index, char* parameters,
           const IsAllocated& is_allocated, std::vector<Thread>& threads)
      : memory_{function, is_allocated, parameters,
                std::vector<std::uint64_t>(function.shared_bytes / 8 + 1)},
        threads_(threads) {
    const std::size_t count = std::size_t{block[0]} * block[1] * block[2];
    threads_.resize(count);
    for (std::size_t t = 0; t < count; ++t) {
      Thread& thread = threads_[t];
      thread.slots = function.initial;
      thread.local.assign(function.local_bytes / 8 + 1,
                          0xbadbadbadbadbadb);  // not zeros: it is uninitialized
      thread.at = 0;
      thread.has_ended = false;
      const Dim3 in_block = {static_cast<unsigned>(t % block[0]),
                             static_cast<unsigned>(t / block[0] % block[1]),
                             static_cast<unsigned>(t / block[0] / block[1])};
      for (const Special& special : function.specials) {
        const Dim3& from = special.kind == 't'   ? in_block
                           : special.kind == 'n' ? block
                           : special.kind == 'c' ? index
                                                 : grid;
        thread.set(special.slot, std::uint64_t{from[static_cast<std::size_t>(special.axis)]});
      }
      for (const auto& [name, variable] : function.variables) {
        char* const base = variable.space == Space::Parameter ? parameters
                           : variable.space == Space::Local   ? reinterpret_cast<char*>(thread.local.data())
                                                            : reinterpret_cast<char*>(memory_.shared.data());
        thread.set(variable.slot, reinterpret_cast<std::uint64_t>(base + variable.offset));
      }
    }
  }

  void run(std::mt19937_64& random) {
    std::vector<std::size_t> order(threads_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (;;) {
      std::shuffle(order.begin(), order.end(), random);
      std::size_t ended = 0;
      for (const std::size_t t : order) {
        run_to_barrier(threads_[t]);
        ended += threads_[t].has_ended ? 1 : 0;
      }
      if (ended == threads_.size()) return;
      if (ended != 0)
        throw PtxError(memory_.function.name +
                       ": some threads of a block ended where others wait at a barrier");
    }
  }

 private:
  void run_to_barrier(Thread& thread) {
    std::uint64_t count = 0;
    while (static_cast<std::size_t>(thread.at) < memory_.function.code.size()) {
      const Instruction& instruction = memory_.function.code[static_cast<std::size_t>(thread.at++)];
      if (++count > kMaxInstructions) throw PtxError(memory_.function.name + " does not end");
      if (instruction.guard != kNoSlot &&
          (thread.get<std::uint8_t>(instruction.guard) != 0) == instruction.is_guard_negated)
        continue;
      if (instruction.op == Op::Branch) {
        thread.at = instruction.target;
      } else if (instruction.op == Op::Return) {
        break;
      } else if (instruction.op == Op::Barrier) {
        executed += count;
        return;
      } else {
        step(thread, instruction, memory_);
      }
    }
    executed += count;
    thread.has_ended = true;
  }

  BlockMemory memory_;
  std::vector<Thread>& threads_;
};

}  // namespace

std::vector<std::size_t> parameter_sizes(const Function& function) {
  std::vector<std::size_t> sizes;
  for (const Parameter& parameter : function.parameters) sizes.push_back(parameter.size);
  return sizes;
}

std::uint64_t executed_instructions() { return executed; }

void run(const Function& function, const Dim3& grid, const Dim3& block, const void* const* parameters,
         const IsAllocated& is_allocated, std::uint64_t seed) {
  std::vector<std::uint64_t> memory(function.parameter_bytes / 8 + 1);
  char* const bytes = reinterpret_cast<char*>(memory.data());
  for (std::size_t i = 0; i < function.parameters.size(); ++i)
    std::memcpy(bytes + function.parameters[i].offset, parameters[i], function.parameters[i].size);
  std::mt19937_64 random(seed);
  std::vector<std::uint64_t> blocks(std::uint64_t{grid[0]} * grid[1] * grid[2]);
  std::iota(blocks.begin(), blocks.end(), std::uint64_t{0});
  std::shuffle(blocks.begin(), blocks.end(), random);
  std::vector<Thread> threads;
  for (const std::uint64_t b : blocks) {
    const Dim3 index = {static_cast<unsigned>(b % grid[0]), static_cast<unsigned>(b / grid[0] % grid[1]),
                        static_cast<unsigned>(b / grid[0] / grid[1])};
    BlockRun(function, grid, block, index, bytes, is_allocated, threads).run(random);
  }
}

}  // namespace pel::test::ptx
