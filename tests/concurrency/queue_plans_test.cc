// A compiled function on an asynchronous device that threads call on streams of their own, while profiles
// come and go and functions are dropped.
#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "pellucid/pellucid.h"

#include "support/bytes.h"

namespace pel {
namespace {

TEST(QueuePlansOfThreads, ShareWeightsAndKeepTheirBits) {
  const Tensor weight = rand({24, 24}), weight_there = weight.to(kQueue);
  const auto function_with = [](const Tensor& w) {
    return [w](const Tensor& x) { return softmax(gelu(matmul(x, w)) + x, -1); };
  };
  const auto eager = function_with(weight);
  const auto shared = compile(function_with(weight_there));
  std::atomic<int> wrong{0};
  std::atomic<bool> ends{false};
  std::thread profiles([&] {
    while (!ends) {
      Profile profile;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      profile.each([&](const ProfileEvent& e) { wrong += e.begin_ns > e.end_ns; });
    }
  });
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      const NoGrad no_grad;
      for (int i = 0; i < 30; ++i) {
        const StreamScope stream(Stream(kQueue, (t + i) % 3));
        const Tensor x = full({t + 1 + i % 4, 24}, 0.125 * i);
        Tensor y = shared(x.to(kQueue)), wanted = eager(x);
        for (int again = 0; again < 3; ++again) y = shared(y), wanted = eager(wanted);
        if (i % 10 == 0) {
          y = compile(function_with(weight_there))(y);  // dropped while its kernels are queued
          wanted = eager(wanted);
        }
        wrong += test::bytes_of(y.to(kCpu)) != test::bytes_of(wanted);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ends = true;
  profiles.join();
  synchronize(kQueue);
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace pel
