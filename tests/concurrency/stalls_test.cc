// Many more threads than processors, which stall at random: loops cover what they should, exceptions come
// back, kernels return the same bits, and little processor time is lost.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <time.h>

#include "pellucid/pellucid.h"
#include "pellucid/threads.h"

#include "base/thread_pool.h"
#include "compile/equal_bits.h"
#include "support/random.h"
#include "support/under_tsan.h"

namespace pel {
namespace {

constexpr int kManyThreads = 64;

class Stalls : public testing::Test {
 protected:
  ~Stalls() override { set_thread_count(before_); }

 private:
  int before_ = thread_count();
};

// A number that depends on the seed and on nothing else, whatever thread asks for it.
std::uint64_t mixed(std::uint64_t seed, std::int64_t number) {
  std::uint64_t word = seed + static_cast<std::uint64_t>(number) * 0x9E3779B97F4A7C15u;
  word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9u;
  word = (word ^ (word >> 27)) * 0x94D049BB133111EBu;
  return word ^ (word >> 31);
}

// Sleeps for up to 300 µs in one of eight cases, and lets others run in one of eight.
void stall(std::uint64_t word) {
  if (word % 8 == 0)
    std::this_thread::sleep_for(std::chrono::microseconds(word / 8 % 300));
  else if (word % 8 == 1)
    std::this_thread::yield();
}

// One loop of random size, some of whose pieces stall, contain a loop, or throw.
void run_random_loop(test::Random& random) {
  const std::uint64_t seed = random.bits32();
  const std::int64_t count = random.between(1, 2000);
  const Grain grain = random.one_in(4) ? Grain(random.between(1, 50)) : Grain(random.between(1, 50), 1 << 10);
  const std::int64_t bad = random.one_in(10) ? random.between(0, count - 1) : -1;
  std::vector<std::atomic<int>> visits(static_cast<std::size_t>(count));
  std::int64_t caught = -1;
  try {
    parallel_for(count, grain, [&](std::int64_t begin, std::int64_t end) {
      const std::uint64_t word = mixed(seed, begin);
      stall(word);
      if (word % 5 == 0) {
        std::int64_t sum = 0;  // a loop inside a loop runs on one thread: no lock
        parallel_for(100, Grain::whole(), [&](std::int64_t first, std::int64_t last) {
          for (std::int64_t i = first; i < last; ++i) sum += i;
        });
        ASSERT_EQ(sum, 4950);
      }
      for (std::int64_t i = begin; i < end; ++i) ++visits[static_cast<std::size_t>(i)];
      if (begin <= bad && bad < end) throw bad;
    });
  } catch (std::int64_t thrown) {
    caught = thrown;
  }
  ASSERT_EQ(caught, bad);
  if (bad >= 0) return;  // pieces that had not begun are left out
  for (const auto& visit : visits) ASSERT_EQ(visit, 1) << "count " << count << ", grain " << grain.elements;
}

TEST_F(Stalls, SixtyFourThreadsOfWhichSomeSleepRunEveryElementOnce) {
  test::Random random;
  set_thread_count(kManyThreads);
  constexpr int kCallers = 4;
  std::vector<std::jthread> callers;
  for (int t = 0; t < kCallers; ++t) {
    callers.emplace_back([own = random.of_case(static_cast<std::uint64_t>(t))]() mutable {
      for (int i = test::Random::share_of(150); i > 0 && !testing::Test::HasFatalFailure(); --i)
        run_random_loop(own);
    });
  }
}

TEST_F(Stalls, KernelsReturnTheSameBitsWhileOthersStall) {
  test::Random random;
  manual_seed(random.bits32());
  const Tensor x = randn({256, 192}), heads = randn({1, 4, 64, 48});
  const auto all = [&] {
    return std::vector<Tensor>{gelu(x), matmul(x, x.t()), softmax(x, -1), sum(x, {0}),
                               scaled_dot_product_attention(heads, heads, heads)};
  };
  set_thread_count(1);
  const std::vector<Tensor> expected = all();
  set_thread_count(kManyThreads);
  std::atomic<bool> ends = false;
  std::jthread staller([&, own = random.of_case(0)]() mutable {
    while (!ends) run_random_loop(own);
  });
  for (int i = test::Random::share_of(30); i > 0; --i) {
    const std::vector<Tensor> now = all();
    for (std::size_t k = 0; k < now.size(); ++k)
      EXPECT_TRUE(test::equal_bits(now[k], expected[k])) << "kernel " << k;
  }
  ends = true;
}

// Processor time, not wall time: other processes hold the processors for as long as they like.
// The goal is a tenth more at most, which bench/threads/threads_many.json has; where other processes hold the
// processors, workers spin longer in vain.
TEST_F(Stalls, SixtyFourThreadsUseAboutTheProcessorTimeOfTwo) {
#if defined(PEL_TEST_UNDER_TSAN)
  GTEST_SKIP() << "ThreadSanitizer's own work for each switch of threads would be measured";
#endif
  const Tensor x = randn({1 << 19});
  const auto used_ns = [] {
    timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return time.tv_sec * std::int64_t{1'000'000'000} + time.tv_nsec;
  };
  const auto cpu_ns = [&](int threads) {
    set_thread_count(threads);
    gelu(x);
    // Threads that were just made spin before they park, which takes long if the processors are busy.
    for (std::int64_t before = 0, now = used_ns(); now - before > 100'000; now = used_ns()) {
      before = now;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    const std::int64_t begin = used_ns();
    for (int i = 0; i < 20; ++i) gelu(x);
    return used_ns() - begin;
  };
  std::int64_t two = INT64_MAX, many = INT64_MAX;
  for (int round = 0; round < 10; ++round) {
    two = std::min(two, cpu_ns(2));
    many = std::min(many, cpu_ns(kManyThreads));
  }
  RecordProperty("percent", static_cast<int>(100 * many / two));
  EXPECT_LE(static_cast<double>(many), 1.5 * static_cast<double>(two)) << "with 64 threads, against two";
}

}  // namespace
}  // namespace pel
