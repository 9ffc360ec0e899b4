// set_parallel_runner: parallel loops on threads of the embedding program.
#include <algorithm>
#include <atomic>
#include <barrier>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pellucid/pellucid.h"

#include "base/thread_pool.h"
#include "support/bytes.h"
#include "support/errors.h"
#include "support/random.h"
#include "support/under_tsan.h"

namespace pel {
namespace {

using Body = std::function<void(int)>;

// Calls made in descending order on the calling thread.
void run_backwards(int n, const Body& body) {
  for (int i = n; i-- > 0;) body(i);
}

// All calls on one other thread.
void run_elsewhere(int n, const Body& body) {
  std::jthread([&] {
    for (int i = 0; i < n; ++i) body(i);
  });
}

// A thread for each call; the calling one makes none.
void run_on_new_threads(int n, const Body& body) {
  std::vector<std::jthread> threads;
  for (int i = 0; i < n; ++i) threads.emplace_back([&body, i] { body(i); });
}

class ParallelRunnerTest : public testing::Test {
 protected:
  ~ParallelRunnerTest() override {
    set_parallel_runner(nullptr);
    set_thread_count(before_);
  }

  // The beginnings and ends of the pieces of one loop, in ascending order.
  static std::vector<std::pair<std::int64_t, std::int64_t>> cuts_of(std::int64_t count, std::int64_t grain) {
    std::mutex mutex;
    std::vector<std::pair<std::int64_t, std::int64_t>> cuts;
    parallel_for(count, Grain(grain, Grain::whole().time), [&](std::int64_t begin, std::int64_t end) {
      std::lock_guard lock(mutex);
      cuts.emplace_back(begin, end);
    });
    std::ranges::sort(cuts);
    return cuts;
  }

  // A runner that counts its calls.
  static ParallelRunner counting(std::atomic<int>& calls, ParallelRunner runner) {
    return [&calls, runner = std::move(runner)](int n, const Body& body) {
      ++calls;
      runner(n, body);
    };
  }

  const std::vector<ParallelRunner> runners_ = {run_backwards, run_elsewhere, run_on_new_threads};

 private:
  int before_ = thread_count();
};

TEST_F(ParallelRunnerTest, CutsLoopsAsThePoolDoes) {
  for (const int threads : {1, 2, 3, 8}) {
    set_thread_count(threads);
    for (const std::int64_t count : {0, 1, 2, 7, 97, 1009}) {
      for (const std::int64_t grain : {1, 3, 31, 997}) {
        set_parallel_runner(nullptr);
        const auto wanted = cuts_of(count, grain);
        for (const ParallelRunner& runner : runners_) {
          set_parallel_runner(runner);
          EXPECT_EQ(cuts_of(count, grain), wanted) << "count " << count << ", grain " << grain;
        }
      }
    }
  }
}

TEST_F(ParallelRunnerTest, KernelsHaveTheSameBits) {
  const Tensor x = randn({300, 1000}), image = randn({4, 16, 96, 96}), weight = randn({32, 16, 3, 3});
  const Tensor heads = randn({2, 4, 130, 64}), order = randint(0, 300, {5000});
  const std::vector<std::function<Tensor()>> kernels = {
      [&] { return add(x, x); },
      [&] { return gelu(x.t()); },
      [&] { return softmax(x, 1); },
      [&] { return sum(x, {0}); },
      [&] { return sum(x); },
      [&] { return matmul(x, x.t()); },
      [&] { return matmul(to_copy(x, kBF16), to_copy(x.t(), kBF16)); },
      [&] { return scaled_dot_product_attention(heads, heads, heads); },
      [&] { return conv2d(image, weight); },
      [&] { return max_pool2d(image, {2}); },
      [&] { return index_select(x, 0, order); },
      [&] { return cumsum(x, 1); },
  };
  for (const int threads : {2, 5}) {
    set_thread_count(threads);
    for (std::size_t kernel = 0; kernel < kernels.size(); ++kernel) {
      set_parallel_runner(nullptr);
      const auto wanted = test::bytes_of(kernels[kernel]().contiguous());
      for (const ParallelRunner& runner : runners_) {
        std::atomic<int> calls = 0;
        set_parallel_runner(counting(calls, runner));
        EXPECT_EQ(test::bytes_of(kernels[kernel]().contiguous()), wanted) << "kernel " << kernel;
        EXPECT_GT(calls, 0) << "kernel " << kernel;
      }
    }
  }
}

TEST_F(ParallelRunnerTest, ItIsAskedForAtMostTheUsableThreadsAndThePieces) {
  set_thread_count(4);
  std::vector<int> asked;
  set_parallel_runner([&](int n, const Body& body) {
    asked.push_back(n);
    run_backwards(n, body);
  });
  for (const std::int64_t count : {1, 2, 3, 4, 100}) cuts_of(count, 1);
  const int most = usable_threads();
  EXPECT_LE(most, 4);
  EXPECT_EQ(asked, (std::vector<int>{2, std::min(3, most), most, most}));
}

TEST_F(ParallelRunnerTest, OneThreadDoesNotCallIt) {
  set_thread_count(1);
  std::atomic<int> calls = 0;
  set_parallel_runner(counting(calls, run_backwards));
  EXPECT_EQ(cuts_of(1000, 1).size(), 1u);
  EXPECT_EQ(calls, 0);
  set_thread_count(2);
  EXPECT_GT(cuts_of(1000, 1).size(), 1u);
  EXPECT_EQ(calls, 1);
}

TEST_F(ParallelRunnerTest, AnEmptyFunctionRestoresTheLibrarysThreads) {
  set_thread_count(2);
  std::atomic<int> calls = 0;
  set_parallel_runner(counting(calls, run_backwards));
  cuts_of(100, 1);
  set_parallel_runner({});
  EXPECT_GT(cuts_of(100, 1).size(), 1u);
  EXPECT_EQ(calls, 1);
}

TEST_F(ParallelRunnerTest, NestedLoopsRunInlineOnTheirThread) {
  set_thread_count(3);
  for (const ParallelRunner& runner : runners_) {
    std::atomic<int> calls = 0, nested = 0;
    set_parallel_runner(counting(calls, runner));
    parallel_for(12, Grain::whole(), [&](std::int64_t, std::int64_t) {
      const auto thread = std::this_thread::get_id();
      int pieces = 0;
      parallel_for(1000, Grain::whole(), [&](std::int64_t, std::int64_t) {
        EXPECT_EQ(std::this_thread::get_id(), thread);
        ++pieces;
      });
      EXPECT_EQ(pieces, 1);
      ++nested;
    });
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(nested, std::min(12, 4 * usable_threads())) << "four pieces for each thread";
    cuts_of(12, 1);
    EXPECT_EQ(calls, 2) << "the outer loop has not left the caller as it was";
  }
}

TEST_F(ParallelRunnerTest, AnExceptionOfAPieceIsRethrownToTheCaller) {
  set_thread_count(3);
  for (const ParallelRunner& runner : runners_) {
    set_parallel_runner(runner);
    for (const std::int64_t bad : {0, 5, 99}) {
      const auto error = test::thrown_by<ShapeError>([&] {
        parallel_for(100, Grain::whole(), [&](std::int64_t begin, std::int64_t end) {
          if (begin <= bad && bad < end) throw ShapeError("piece with " + std::to_string(bad));
        });
      });
      EXPECT_EQ(error.message(), "piece with " + std::to_string(bad));
      EXPECT_GT(cuts_of(100, 1).size(), 1u);
    }
  }
}

TEST_F(ParallelRunnerTest, AnExceptionOfTheRunnerReachesTheCallerAndTheNextLoopRuns) {
  set_thread_count(2);
  bool fails = true;
  set_parallel_runner([&](int n, const Body& body) {
    if (fails) throw std::runtime_error("no thread could be started");
    run_backwards(n, body);
  });
  EXPECT_THROW(cuts_of(100, 1), std::runtime_error);
  fails = false;
  EXPECT_GT(cuts_of(100, 1).size(), 1u);
}

TEST_F(ParallelRunnerTest, ARunnerThatOmitsCallsIsAnError) {
  set_thread_count(2);
  set_parallel_runner([](int, const Body& body) { body(0); });
  const auto error = test::thrown_by<ValueError>([] { cuts_of(100, 1); });
  EXPECT_EQ(
      error.message(),
      "the runner of set_parallel_runner returned after 1 calls of its body; it must make 2, one for each "
      "index, and wait for them");
}

TEST_F(ParallelRunnerTest, ManyThreadsMayCallKernelsAndItServesOneAtATime) {
  set_thread_count(3);
  std::atomic<int> running = 0, calls = 0;
  set_parallel_runner([&](int n, const Body& body) {
    EXPECT_EQ(running.fetch_add(1), 0);
    ++calls;
    run_on_new_threads(n, body);
    --running;
  });
  constexpr int kCallers = 4;
  std::barrier start(kCallers);
  std::vector<std::jthread> callers;
  for (int t = 0; t < kCallers; ++t) {
    callers.emplace_back([&] {
      start.arrive_and_wait();
      for (int i = test::Random::share_of(200); i > 0; --i) {
        std::atomic<std::int64_t> sum = 0;
        parallel_for(90, Grain(3, Grain::whole().time), [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t at = begin; at < end; ++at) sum += at;
        });
        ASSERT_EQ(sum, 90 * 89 / 2);
      }
    });
  }
  callers.clear();
  EXPECT_GT(calls, 0);
}

TEST_F(ParallelRunnerTest, ItMayChangeWhileOtherThreadsRunLoopsAndThePreviousOneIsDestroyed) {
  set_thread_count(2);
  std::jthread loops([](const std::stop_token& stop) {
    while (!stop.stop_requested()) ASSERT_FALSE(cuts_of(100, 1).empty());
  });
  for (int i = test::Random::share_of(200); i > 0; --i) {
    auto alive = std::make_shared<std::atomic<int>>(0);
    const std::weak_ptr<std::atomic<int>> seen = alive;
    set_parallel_runner([alive = std::move(alive)](int n, const Body& body) {
      ++*alive;
      run_backwards(n, body);
      --*alive;
    });
    set_parallel_runner(i % 2 == 0 ? ParallelRunner() : run_backwards);
    EXPECT_TRUE(seen.expired());
  }
}

TEST_F(ParallelRunnerTest, SettingItInsideALoopIsRefused) {
  set_thread_count(2);
  for (const ParallelRunner& runner : {ParallelRunner(), ParallelRunner(run_backwards)}) {
    set_parallel_runner(runner);
    const auto error = test::thrown_by<ValueError>([] {
      parallel_for(100, Grain::whole(), [](std::int64_t, std::int64_t) { set_parallel_runner(nullptr); });
    });
    EXPECT_EQ(error.op(), "set_parallel_runner");
    EXPECT_EQ(
        error.message(),
        "it was called inside a parallel loop, which runs by the present runner; call it between kernels");
  }
}

TEST_F(ParallelRunnerTest, AForkedChildUsesTheLibrarysThreads) {
#if defined(PEL_TEST_UNDER_TSAN)
  GTEST_SKIP() << "ThreadSanitizer ends a forked child that makes threads";
#endif
  set_thread_count(2);
  std::atomic<int> calls = 0;
  set_parallel_runner(counting(calls, run_backwards));
  cuts_of(100, 1);
  constexpr int kRight = 42;  // not 0: what the child says when it is right
  const pid_t pid = fork();
  if (pid == 0) {
    alarm(60);
    const bool uses_own = cuts_of(100, 1).size() > 1 && calls == 1;
    set_parallel_runner(counting(calls, run_backwards));
    cuts_of(100, 1);
    _exit(uses_own && calls == 2 ? kRight : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == kRight) << status;
  cuts_of(100, 1);
  EXPECT_EQ(calls, 2) << "the parent has lost its runner";
}

TEST_F(ParallelRunnerTest, LoopsOfTheRunnerItselfRunInline) {
  set_thread_count(2);
  std::size_t inner = 0;
  set_parallel_runner([&](int n, const Body& body) {
    inner = cuts_of(100, 1).size();
    run_backwards(n, body);
  });
  EXPECT_GT(cuts_of(100, 1).size(), 1u);
  EXPECT_EQ(inner, 1u);
}

}  // namespace
}  // namespace pel
