// Tensors freed on another thread than the one that allocated them, and threads that end before or after
// their tensors.
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "pellucid/memory.h"
#include "pellucid/ops.h"

#include "support/random.h"
#include "tensor/block_pool.h"

namespace pel {
namespace {

class BlocksAcrossThreads : public testing::Test {
 protected:
  ~BlocksAcrossThreads() override {
    EXPECT_EQ(blocks_in_use(), blocks_);
    EXPECT_EQ(memory_stats().data_bytes, bytes_);
  }
  std::int64_t blocks_ = blocks_in_use();
  std::int64_t bytes_ = memory_stats().data_bytes;
};

class Queue {
 public:
  void push(Tensor t) {
    std::lock_guard lock(mutex_);
    items_.push_back(std::move(t));
    ready_.notify_one();
  }
  // Undefined tensors are the end.
  Tensor pop() {
    std::unique_lock lock(mutex_);
    ready_.wait(lock, [&] { return !items_.empty(); });
    Tensor t = std::move(items_.front());
    items_.pop_front();
    return t;
  }

 private:
  std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<Tensor> items_;
};

TEST_F(BlocksAcrossThreads, OneThreadMakesAndAnotherFreesThousands) {
  const int count = test::Random::share_of(20'000);
  Queue queue;
  std::jthread producer([&] {
    for (int i = 0; i < count; ++i) queue.push(full({i % 300 + 1}, i, kI32));
    queue.push(Tensor());
  });
  std::jthread consumer([&] {
    for (int i = 0;; ++i) {
      const Tensor t = queue.pop();
      if (!t.defined()) break;
      ASSERT_EQ(t.select(0, -1).item().to_int(), i);
    }
  });
  producer.join();
  consumer.join();
}

TEST_F(BlocksAcrossThreads, SeveralProducersAndConsumersPassViewsToEachOther) {
  const int count = test::Random::share_of(3000);
  constexpr int kPairs = 3;
  Queue queue;
  std::vector<std::jthread> threads;
  for (int p = 0; p < kPairs; ++p) {
    threads.emplace_back([&] {
      for (int i = 0; i < count; ++i) {
        const Tensor x = full({4, 5}, i, kI32);
        queue.push(x[i % 4]);
        queue.push(x.t());
      }
      queue.push(Tensor());
    });
    threads.emplace_back([&] {
      while (true) {
        const Tensor t = queue.pop();
        if (!t.defined()) break;
        const Tensor copy = t.clone();
        ASSERT_EQ(copy.dim(), t.dim());
      }
    });
  }
  threads.clear();
  // A taker stops at the first end it meets; what is left is freed here.
}

TEST_F(BlocksAcrossThreads, TensorsOutliveTheThreadThatMadeThem) {
  std::vector<Tensor> tensors;
  for (int round = 0; round < 20; ++round) {
    std::jthread([&] {
      for (int i = 0; i < 50; ++i) tensors.push_back(full({8 * (i + 1)}, i, kI16));
    }).join();
  }
  for (std::size_t i = 0; i < tensors.size(); ++i)
    ASSERT_EQ(tensors[i].select(0, -1).item().to_int(), static_cast<std::int64_t>(i % 50));
  EXPECT_GE(blocks_in_use(), blocks_ + static_cast<std::int64_t>(tensors.size()));
  tensors.clear();
}

TEST_F(BlocksAcrossThreads, AThreadMayOnlyFreeAndEnd) {
  for (int round = 0; round < 20; ++round) {
    std::vector<Tensor> made;
    for (int i = 0; i < 600; ++i) made.push_back(zeros({i % 7}));
    std::jthread([mine = std::move(made)]() mutable { mine.clear(); }).join();
  }
}

TEST_F(BlocksAcrossThreads, EachFreesWhatTheOtherMadeAfterItsEnd) {
  for (int round = 0; round < 20; ++round) {
    std::vector<Tensor> first, second;
    std::jthread([&] {
      for (int i = 0; i < 100; ++i) first.push_back(ones({i}));
    }).join();
    std::jthread([&] {
      for (int i = 0; i < 100; ++i) second.push_back(first[static_cast<std::size_t>(i)].expand({2, i}));
      first.clear();
    }).join();
    std::jthread([&] { second.clear(); }).join();
  }
}

TEST_F(BlocksAcrossThreads, ManyShortThreadsRunAtOnce) {
  for (int round = 0; round < 20; ++round) {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([] {
        std::vector<Tensor> held;
        for (int i = 0; i < 400; ++i) held.push_back(zeros({i % 40, 3}));
        static_cast<void>(memory_stats());
      });
    }
  }
}

// Destroyed after the pool's own record of the thread, if it was made before the thread's first tensor.
struct LateHolder {
  std::vector<Tensor> held;
  bool makes_more = false;
  ~LateHolder() {
    if (makes_more) {
      const Tensor fresh = ones({5, 5});
      held.push_back(fresh.t());
      held.push_back(fresh.t().contiguous());
      held.push_back(zeros({2000}));
      if (held.back().select(0, 0).item().to_double() != 0) std::abort();
    }
    held.clear();
  }
};

TEST_F(BlocksAcrossThreads, ThreadLocalDestructorsMayFreeTensorsAfterThePoolsThreadEnd) {
  for (int round = 0; round < 20; ++round) {
    std::jthread([] {
      thread_local LateHolder holder;
      holder.held.clear();  // made before the pool's record
      for (int i = 0; i < 500; ++i) holder.held.push_back(zeros({i % 300}));
    }).join();
  }
}

TEST_F(BlocksAcrossThreads, ThreadLocalDestructorsMayMakeTensorsAfterThePoolsThreadEnd) {
  for (int round = 0; round < 20; ++round) {
    std::jthread([] {
      thread_local LateHolder holder;
      holder.makes_more = true;
      holder.held.push_back(zeros({7}));
    }).join();
  }
}

TEST_F(BlocksAcrossThreads, AThreadWhoseFirstTensorIsMadeAtItsEndLosesNothing) {
  for (int round = 0; round < 20; ++round) {
    std::jthread([] {
      thread_local LateHolder holder;
      holder.makes_more = true;
    }).join();
  }
}

TEST_F(BlocksAcrossThreads, ThreadLocalDestructorsMayFreeWhatAnotherThreadMade) {
  for (int round = 0; round < 20; ++round) {
    std::vector<Tensor> made;
    for (int i = 0; i < 100; ++i) made.push_back(zeros({i}));
    std::jthread([&] {
      thread_local LateHolder holder;
      holder.held = std::move(made);
    }).join();
  }
}

}  // namespace
}  // namespace pel
