// Two threads queue random calls on three streams of an asynchronous device, share and free tensors at
// random, and compare with the same calls on the CPU, bit by bit.
#include <mutex>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pellucid/pellucid.h"

#include "support/bytes.h"
#include "support/random.h"

namespace pel {
namespace {

constexpr int kSteps = 4000, kStreams = 3;
constexpr std::size_t kMaxLive = 24;

// The same tensor on both sides.
struct Pair {
  Tensor cpu, queue;
};

std::string difference(const Pair& pair) {
  return test::bytes_of(pair.cpu) == test::bytes_of(pair.queue) ? "" : "other bits than on the CPU";
}

// Pairs that wait for a thread to take them: what is written on one thread is read and freed on another.
class Exchange {
 public:
  void put(Pair pair) {
    const std::lock_guard lock(mutex_);
    pairs_.push_back(std::move(pair));
  }
  bool take(Pair& pair, std::uint32_t number) {
    const std::lock_guard lock(mutex_);
    if (pairs_.empty()) return false;
    std::swap(pairs_[number % pairs_.size()], pairs_.back());
    pair = std::move(pairs_.back());
    pairs_.pop_back();
    return true;
  }

 private:
  std::mutex mutex_;
  std::vector<Pair> pairs_;
};

class Worker {
 public:
  Worker(test::Random random, const std::vector<Pair>& constants, Exchange& exchange)
      : random_(std::move(random)), constants_(constants), exchange_(exchange) {}

  void run(int steps) {
    for (step_ = 0; step_ < steps && failure_.empty(); ++step_) {
      const StreamScope scope(Stream(kQueue, static_cast<int>(random_.between(0, kStreams - 1))));
      try {
        step();
      } catch (const std::exception& error) {
        failure_ = error.what();
      }
    }
    for (const Pair& pair : live_)
      if (failure_.empty()) failure_ = difference(pair);
  }
  std::string failure() const { return failure_.empty() ? "" : fmt::format("step {}: {}", step_, failure_); }

 private:
  const Pair& any() {
    const bool constant = live_.empty() || random_.one_in(5);
    const std::vector<Pair>& from = constant ? constants_ : live_;
    return from[random_.bits32() % from.size()];
  }
  // f on both sides; the random numbers that it needs are drawn before.
  template <class F>
  void add(const F& f, const Pair& a, const Pair& b) {
    live_.push_back({f(a.cpu, b.cpu), f(a.queue, b.queue)});
  }

  void step() {
    const Pair a = any(), b = any();
    const double number = static_cast<double>(random_.between(-3, 3));
    switch (random_.between(0, 12)) {
      case 0:
        add([](const Tensor& x, const Tensor& y) { return x + y; }, a, b);
        break;
      case 1:
        add([&](const Tensor& x, const Tensor& y) { return x * number - y; }, a, b);
        break;
      case 2:
        add([](const Tensor& x, const Tensor& y) { return softmax(x, -1) + y; }, a, b);
        break;
      case 3:
        add([](const Tensor& x, const Tensor& y) { return tanh(matmul(x, y.t())); }, a, b);
        break;
      case 4:
        add([](const Tensor& x, const Tensor& y) { return where(gt(x, 0), x, y); }, a, b);
        break;
      case 5:  // writes
        if (live_.empty()) break;
        for (const Pair& to = live_[random_.bits32() % live_.size()];
             const auto& [dst, src] : {std::pair(&to.cpu, &a.cpu), std::pair(&to.queue, &a.queue)}) {
          dst->mul_(0.5);
          dst->add_(tanh(*src));
        }
        break;
      case 6: {  // writes through a view
        if (live_.empty()) break;
        const Pair& to = live_[random_.bits32() % live_.size()];
        const std::int64_t row = random_.between(0, 15);
        to.cpu.select(0, row).fill_(number);
        to.queue.select(0, row).fill_(number);
        break;
      }
      case 7: {  // another size, soon freed
        const std::int64_t rows = random_.between(1, 200);
        static_cast<void>(full({rows, 16}, number, {kF32, kQueue}).sum());
        break;
      }
      case 8:
        if (!live_.empty()) {
          exchange_.put(std::move(live_.back()));
          live_.pop_back();
        }
        break;
      case 9: {
        Pair taken;
        if (exchange_.take(taken, random_.bits32())) live_.push_back(std::move(taken));
        break;
      }
      case 10:
        if (random_.one_in(6)) failure_ = difference(a);
        break;
      default:
        break;
    }
    while (live_.size() > kMaxLive || (!live_.empty() && random_.one_in(4))) {
      std::swap(live_[random_.bits32() % live_.size()], live_.back());
      live_.pop_back();
    }
  }

  test::Random random_;
  const std::vector<Pair>& constants_;
  Exchange& exchange_;
  std::vector<Pair> live_;
  int step_ = 0;
  std::string failure_;
};

TEST(DeviceFuzz, TwoThreadsAndThreeStreamsComputeTheBitsOfTheCpu) {
  const test::Random random;
  std::vector<Pair> constants;
  Generator generator(3);
  for (int i = 0; i < 4; ++i) {
    const Tensor x = randn({16, 16}, {}, generator);
    constants.push_back({x, x.to(kQueue)});
  }
  Exchange exchange;
  const int steps = test::Random::share_of(kSteps);
  Worker first(random.of_case(1), constants, exchange), second(random.of_case(2), constants, exchange);
  std::thread other([&] { first.run(steps); });
  second.run(steps);
  other.join();
  EXPECT_EQ(first.failure(), "") << random.repro();
  EXPECT_EQ(second.failure(), "") << random.repro();
  const DeviceStats stats = device_stats(kQueue);
  fmt::print("{} launches, {} waits between streams, {} of the host\n", stats.launches, stats.stream_waits,
             stats.waits);
  EXPECT_GT(stats.stream_waits, 0U);
}

// Threads that only allocate, launch and free: the allocator and the order of blocks alone.
TEST(DeviceFuzz, BlocksFreedWhileTheyAreQueuedAreNotSharedTooEarly) {
  const int rounds = test::Random::share_of(400);
  const auto work = [&](int thread) {
    for (int i = 0; i < rounds; ++i) {
      Tensor sum;
      {
        const StreamScope scope(Stream(kQueue, (thread + i) % kStreams));
        const Tensor x = full({100}, i, {kF32, kQueue}), y = full({100}, 1, {kF32, kQueue});
        sum = x + y;
      }
      const StreamScope scope(Stream(kQueue, (thread + i + 1) % kStreams));
      const Tensor result = sum * 2;
      sum = Tensor();
      static_cast<void>(full({100}, -1, {kF32, kQueue}));
      if (i % 8 == 0) {
        EXPECT_EQ(result.select(0, 99).item().to_double(), 2.0 * (i + 1));
      }
    }
  };
  std::thread other(work, 1);
  work(0);
  other.join();
}

}  // namespace
}  // namespace pel
