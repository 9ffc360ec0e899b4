#include "base/thread_object.h"

#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace pel {
namespace {

std::atomic<int> alive{0};

struct Counted {
  Counted() { ++alive; }
  ~Counted() { --alive; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  int value = 0;
};
// Its destructor uses another thread object, which was made before it.
struct Outer {
  Outer() { thread_object<Counted>().value = 1; }
  ~Outer() { thread_object<Counted>().value = 2; }
  Outer(const Outer&) = delete;
  Outer& operator=(const Outer&) = delete;
};

TEST(ThreadObject, IsTheSameInAllCallsOfAThread) {
  thread_object<Counted>().value = 7;
  EXPECT_EQ(thread_object<Counted>().value, 7);
}

TEST(ThreadObject, IsAnotherOneOnAnotherThread) {
  thread_object<Counted>().value = 7;
  std::thread([] { EXPECT_EQ(thread_object<Counted>().value, 0); }).join();
  EXPECT_EQ(thread_object<Counted>().value, 7);
}

TEST(ThreadObject, IsDeletedWhenTheThreadEnds) {
  thread_object<Counted>();
  const int before = alive;
  std::thread([before] {
    thread_object<Outer>();
    EXPECT_EQ(alive, before + 1);
  }).join();
  EXPECT_EQ(alive, before);
}

TEST(ThreadObject, ManyThreadsThatMakeATypeAtOnceAgreeOnItsSlot) {
  struct Fresh {
    int value = 0;
  };
  std::atomic<bool> go{false};
  std::vector<std::thread> threads;
  for (int i = 1; i <= 8; ++i) {
    threads.emplace_back([&go, i] {
      while (!go) std::this_thread::yield();
      thread_object<Fresh>().value = i;
      EXPECT_EQ(thread_object<Fresh>().value, i);
    });
  }
  go = true;
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace pel
