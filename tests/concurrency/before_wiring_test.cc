// The first calls of the process, from several threads at once: the runtime is wired while they wait. ctest
// runs each test in its own process; in one run of all, this file comes first by its name.
#include <barrier>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "pellucid/extend/op.h"
#include "pellucid/ops.h"

namespace pel {
namespace {

TEST(BeforeWiring, TheFirstCallsMayComeFromManyThreadsAtOnce) {
  constexpr int kThreads = 8;
  std::barrier start(kThreads);
  std::vector<Tensor> results(kThreads);
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        start.arrive_and_wait();
        switch (t % 4) {
          case 0:
            results[static_cast<std::size_t>(t)] = full({2, 3}, t);
            break;
          case 1:
            results[static_cast<std::size_t>(t)] = arange(6).view({2, 3}).t();
            break;
          case 2:
            EXPECT_NE(find_op("view"), nullptr);
            break;
          default:
            EXPECT_THROW(empty({-1}), ValueError);
            EXPECT_FALSE(all_ops().empty());
        }
      });
    }
  }
  EXPECT_EQ(results[4][0][0].item().to_int(), 4);
  EXPECT_EQ(results[5][2][1].item().to_int(), 5);
}

}  // namespace
}  // namespace pel
