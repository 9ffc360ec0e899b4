// Threads that record while profiles come and go.
#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "pellucid/ops.h"
#include "pellucid/profile.h"

namespace pel {
namespace {

TEST(Profiles, ThreadsMayRecordWhileProfilesComeAndGo) {
  const Tensor x = ones({3});
  std::atomic<bool> ends{false};
  std::vector<std::jthread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      while (!ends) {
        const Range range("outer");
        neg(x);
      }
    });
  }
  for (int i = 0; i < 50; ++i) {
    Profile profile;
    neg(x);
    std::uint64_t count = 0;
    profile.each([&](const ProfileEvent& e) {
      EXPECT_LE(e.begin_ns, e.end_ns);
      ++count;
    });
    EXPECT_GE(count, 2u);
  }
  ends = true;
}

}  // namespace
}  // namespace pel
