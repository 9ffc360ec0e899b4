// A compiled function that several threads call.
#include <barrier>
#include <thread>

#include <gtest/gtest.h>

#include "pellucid/pellucid.h"

#include "support/bytes.h"

namespace pel {
namespace {

TEST(CompiledFunctions, ThreadsShareOneCompile) {
  constexpr int kCallers = 4;
  const auto fast = compile([](const Tensor& x) { return mul(gelu(add(x, 1)), x); });
  std::barrier start(kCallers);
  std::vector<std::jthread> callers;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < kCallers; ++t) {
    callers.emplace_back([&, t] {
      const Tensor x = full({t + 3, 5}, 0.25 * t);
      const Tensor wanted = mul(gelu(add(x, 1)), x);
      start.arrive_and_wait();
      for (int i = 0; i < 50; ++i) wrong += test::bytes_of(fast(x)) != test::bytes_of(wanted);
    });
  }
  callers.clear();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(fast.compiles(), 1u);
}

}  // namespace
}  // namespace pel
