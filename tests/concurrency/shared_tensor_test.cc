// One tensor read, viewed, cloned and dropped by many threads at once.
#include <atomic>
#include <barrier>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "pellucid/error.h"
#include "pellucid/memory.h"
#include "pellucid/ops.h"

#include "ir/symbolic_sizes.h"
#include "support/random.h"

namespace pel {
namespace {

constexpr int kReaders = 8;

// Runs f(thread number) on all threads, which start together.
template <class F>
void on_threads(F&& f) {
  std::barrier start(kReaders);
  std::vector<std::jthread> threads;
  for (int t = 0; t < kReaders; ++t) {
    threads.emplace_back([&, t] {
      start.arrive_and_wait();
      f(t);
    });
  }
}

class SharedTensor : public testing::Test {
 protected:
  ~SharedTensor() override {
    EXPECT_EQ(memory_stats().small_blocks, start_.small_blocks);
    EXPECT_EQ(memory_stats().data_bytes, start_.data_bytes);
  }
  MemoryStats start_ = memory_stats();
};

TEST_F(SharedTensor, IsReadByAllThreads) {
  for (const std::int64_t n : {100, 100'000}) {
    const Tensor x = arange(n);
    on_threads([&](int t) {
      for (int i = 0; i < 200; ++i) {
        const std::int64_t at = (t * 200 + i * 7) % n;
        EXPECT_EQ(x.select(0, at).item().to_int(), at);
      }
    });
  }
}

TEST_F(SharedTensor, ViewsAndClonesAreMadeAndDroppedByAllThreads) {
  const Tensor x = arange(600).view({20, 30});
  on_threads([&](int t) {
    std::vector<Tensor> held;
    for (int i = 0; i < 500; ++i) {
      switch ((t + i) % 6) {
        case 0:
          held.push_back(x.t());
          break;
        case 1:
          held.push_back(x[i % 20]);
          break;
        case 2:
          held.push_back(x.clone());
          break;
        case 3:
          held.push_back(x.t().contiguous());
          break;
        case 4:
          held.push_back(x);
          break;
        default:
          held.push_back(x.to(kF32));
      }
      if (held.size() > 20) held.clear();
      EXPECT_TRUE(x.is_contiguous());
    }
  });
  EXPECT_EQ(x[19][29].item().to_int(), 599);
}

TEST_F(SharedTensor, TheLastReferenceMayBeDroppedByAnyThread) {
  for (int round = 0; round < 200; ++round) {
    std::vector<Tensor> copies(kReaders, zeros({round % 2 ? 10 : 1000}));
    on_threads([&](int t) { copies[static_cast<std::size_t>(t)] = Tensor(); });
  }
}

TEST_F(SharedTensor, TheLastViewMayBeDroppedByAnyThreadAndTheDeleterRunsOnce) {
  for (int round = 0; round < 200; ++round) {
    float values[kReaders] = {};
    std::atomic<int> deleted = 0;
    std::vector<Tensor> views;
    {
      External memory;
      memory.data = values;
      memory.sizes = {kReaders};
      memory.deleter = [&](void*) { ++deleted; };
      const Tensor x = from_external(std::move(memory));
      for (int t = 0; t < kReaders; ++t) views.push_back(x[t]);
    }
    on_threads([&](int t) {
      views[static_cast<std::size_t>(t)].fill_(t);
      views[static_cast<std::size_t>(t)] = Tensor();
    });
    EXPECT_EQ(deleted, 1);
    EXPECT_EQ(values[kReaders - 1], kReaders - 1);
  }
}

TEST_F(SharedTensor, DisjointRowsAreWrittenByDifferentThreads) {
  const Tensor x = zeros({kReaders, 100}, kI32);
  on_threads([&](int t) {
    const Tensor source = full({100}, t, kI32);
    for (int i = 0; i < 100; ++i) x[t].copy_(source);
  });
  for (int t = 0; t < kReaders; ++t) EXPECT_EQ(x[t][99].item().to_int(), t);
}

TEST_F(SharedTensor, TheVersionCountsEveryWriteToDisjointRowsByDifferentThreads) {
  const Tensor x = zeros({kReaders, 4}, kI32);
  const std::uint32_t start = x.version();
  constexpr std::uint32_t kWrites = 5000;
  on_threads([&](int t) {
    const Tensor row = x[t];
    for (std::uint32_t i = 0; i < kWrites; ++i) row.fill_(t);
  });
  EXPECT_EQ(x.version(), start + kReaders * kWrites);
}

TEST_F(SharedTensor, StatsLimitsAndTheCacheAreUsedFromAllThreads) {
  on_threads([&](int t) {
    for (int i = 0; i < 50; ++i) {
      const Tensor large = empty({(1 << 20) + t}, kU8);
      static_cast<void>(memory_stats());
      if (t == 0) empty_cache();
      if (t == 1) reset_peak_memory();
    }
  });
  empty_cache();
}

TEST_F(SharedTensor, TextAndErrorsAreMadeByAllThreads) {
  const Tensor x = arange(6).view({2, 3});
  const std::string expected = to_string(x);
  on_threads([&](int) {
    for (int i = 0; i < 50; ++i) {
      EXPECT_EQ(to_string(x), expected);
      EXPECT_THROW(x.view({7}), ShapeError);
    }
  });
}

TEST_F(SharedTensor, EachThreadHasItsOwnSymbolicSizes) {
  on_threads([&](int t) {
    SymbolicSizes sizes;
    const DimContextScope scope(sizes);
    const Dim s = sizes.symbol(t + 1);
    const Tensor x = empty({s, 4});
    for (int i = 0; i < 100; ++i) EXPECT_EQ(to_string(x.view({-1}).sizes()), "[4*s0]");
    EXPECT_EQ(s.value(), t + 1);
    EXPECT_EQ(sizes.guards().size(), 1u);
  });
}

}  // namespace
}  // namespace pel
