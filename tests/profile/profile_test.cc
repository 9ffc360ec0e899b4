#include "pellucid/profile.h"

#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "pellucid/error.h"
#include "pellucid/ops.h"

namespace pel {
namespace {

// Kernels launched by f.
template <class F>
std::uint64_t launches_of(F&& f) {
  const std::uint64_t before = launch_count();
  f();
  return launch_count() - before;
}

TEST(LaunchCount, ViewsLaunchNothing) {
  const Tensor x = ones({4, 6});
  EXPECT_EQ(launches_of([&] {
              x.t();
              x.transpose(0, 1);
              x.permute({1, 0});
              x.movedim({0}, {1});
              x.view({24});
              x.reshape({24});
              x.expand({2, 4, 6});
              x.unsqueeze(0).squeeze();
              x.select(0, 1);
              x.slice(1, 1, 4, 2);
              x.narrow(0, 1, 2);
              x.split(2);
              x.chunk(2);
              x.unbind();
              x.unflatten(1, {2, 3});
              x.diagonal();
              x.as_strided({2, 2}, {1, 1});
              x.flatten();
              x.contiguous();
              x.to(kF32);
              x[{1, Slice(2, 3), kNewAxis}];
              empty({3});
              empty_like(x);
              x.t().flatten(0, 0);
              static_cast<void>(x.select(0, 0).select(0, 0).item());
            }),
            0u);
}

TEST(LaunchCount, CreationsAndCopiesLaunchOne) {
  const Tensor x = ones({4, 6});
  EXPECT_EQ(launches_of([] { zeros({3}); }), 1u);
  EXPECT_EQ(launches_of([] { full({3}, 2); }), 1u);
  EXPECT_EQ(launches_of([] { arange(3); }), 1u);
  EXPECT_EQ(launches_of([] { eye(3); }), 1u);
  EXPECT_EQ(launches_of([] { linspace(0, 1, 3); }), 1u);
  EXPECT_EQ(launches_of([&] { zeros_like(x); }), 1u);
  EXPECT_EQ(launches_of([&] { x.clone(); }), 1u);
  EXPECT_EQ(launches_of([&] { x.copy_(ones({6}).view({6})); }), 2u);
  EXPECT_EQ(launches_of([&] { x.t().contiguous(); }), 1u);
  EXPECT_EQ(launches_of([&] { x.t().reshape({24}); }), 1u);
  EXPECT_EQ(launches_of([&] { x.to(kI8); }), 1u);
  EXPECT_EQ(launches_of([&] { x.fill_(0).zero_(); }), 2u);
}

TEST(LaunchCount, EmptyTensorsLaunchNothing) {
  EXPECT_EQ(launches_of([] {
              const Tensor none = zeros({0, 3});
              none.fill_(1);
              none.clone();
              none.to(kI8);
              none.copy_(ones({0, 1}));
              arange(0);
            }),
            0u);
}

TEST(LaunchCount, IsOfTheThread) {
  EXPECT_EQ(launches_of([] {
              std::jthread([] {
                EXPECT_EQ(launch_count(), 0u);
                zeros({3});
                EXPECT_EQ(launch_count(), 1u);
              });
            }),
            0u);
}

TEST(LaunchCount, RefusedCallsDoNotCount) {
  const Tensor x = ones({3});
  const Tensor wide = x.expand({2, 3});
  EXPECT_EQ(launches_of([&] { EXPECT_THROW(wide.copy_(x), AliasError); }), 0u);
}

TEST(Recording, NamesKernelAndOp) {
  const Tensor x = ones({4, 6});
  const Recording recording;
  x.clone();
  x.t().contiguous();
  x.to(kF64);
  x.fill_(2);
  x.t();
  ASSERT_EQ(recording.events().size(), 4u);
  const std::pair<std::string, std::string> expected[] = {{"cpu_copy_dense", "copy_"},
                                                          {"cpu_copy_strided", "copy_"},
                                                          {"cpu_copy_cast", "copy_"},
                                                          {"cpu_fill_strided", "fill_"}};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(recording.events()[i].name, expected[i].first);
    EXPECT_EQ(recording.events()[i].op, expected[i].second);
    EXPECT_EQ(recording.events()[i].device, kCpu);
  }
}

TEST(Recording, ABroadcastElementIsReadOnce) {
  const Tensor dst = zeros({4, 6}), src = ones({6});
  const Recording recording;
  dst.copy_(src);
  dst.copy_(src.to(kF64).view({1, 6}));
  ASSERT_EQ(recording.events().size(), 3u);
  EXPECT_EQ(recording.events()[0].bytes_read, 6 * 4u);
  EXPECT_EQ(recording.events()[0].bytes_written, 24 * 4u);
  EXPECT_EQ(recording.events()[2].bytes_read, 6 * 8u);
  EXPECT_EQ(recording.events()[2].bytes_written, 24 * 4u);
}

TEST(Recording, AFillReadsNothing) {
  const Recording recording;
  zeros({10}, kI16);
  ASSERT_EQ(recording.events().size(), 1u);
  EXPECT_EQ(recording.events()[0].bytes_read, 0u);
  EXPECT_EQ(recording.events()[0].bytes_written, 20u);
}

TEST(Recording, TimesAreInOrder) {
  const Recording recording;
  for (int i = 0; i < 50; ++i) zeros({100, 100});
  ASSERT_EQ(recording.events().size(), 50u);
  std::uint64_t last = 0;
  for (const Event& event : recording.events()) {
    EXPECT_LE(last, event.begin_ns);
    EXPECT_LE(event.begin_ns, event.end_ns);
    last = event.end_ns;
  }
}

TEST(Recording, TheInnermostRecordsTheEvents) {
  const Recording outer;
  zeros({1});
  {
    const Recording inner;
    zeros({2});
    zeros({3});
    EXPECT_EQ(inner.events().size(), 2u);
    EXPECT_EQ(outer.events().size(), 1u);
  }
  zeros({4});
  EXPECT_EQ(outer.events().size(), 2u);
}

TEST(Recording, SeesItsOwnThreadOnlyAndThreadsHaveNumbers) {
  const Recording recording;
  zeros({1});
  std::uint32_t other = 0;
  std::jthread([&] {
    const Recording own;
    zeros({1});
    ASSERT_EQ(own.events().size(), 1u);
    other = own.events()[0].thread;
  }).join();
  zeros({1});
  ASSERT_EQ(recording.events().size(), 2u);
  EXPECT_EQ(recording.events()[0].thread, recording.events()[1].thread);
  EXPECT_NE(recording.events()[0].thread, other);
}

TEST(Recording, CallsCountAlsoWhileRecorded) {
  const std::uint64_t before = launch_count();
  {
    const Recording recording;
    zeros({1});
  }
  zeros({1});
  EXPECT_EQ(launch_count() - before, 2u);
}

}  // namespace
}  // namespace pel
