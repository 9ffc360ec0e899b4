// The account, the limit and the cache of large blocks.
#include "pellucid/memory.h"

#include <cstdlib>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "pellucid/ops.h"
#include "pellucid/tensor.h"

#include "support/errors.h"
#include "support/random.h"

namespace pel {
namespace {

using test::thrown_by;

constexpr std::int64_t kMiB = std::int64_t{1} << 20;

Tensor bytes(std::int64_t count) { return empty({count}, kU8); }

class Memory : public testing::Test {
 protected:
  Memory() : start_(memory_stats()) {
    empty_cache();
    reset_peak_memory();
  }
  ~Memory() override {
    set_memory_limit(start_.limit_bytes);
    set_cache_limit(start_.cache_limit_bytes);
    empty_cache();
  }
  std::int64_t used() const { return memory_stats().data_bytes - start_.data_bytes; }
  MemoryStats start_;
};

TEST_F(Memory, InUseReturnsToTheStart) {
  {
    const Tensor a = bytes(5000), b = bytes(3 * kMiB);
    EXPECT_EQ(used(), 5000 + 3 * kMiB);
    const Tensor view = a.view({50, 100}), copy = a;
    EXPECT_EQ(used(), 5000 + 3 * kMiB);
  }
  EXPECT_EQ(used(), 0);
  EXPECT_EQ(memory_stats().small_blocks, start_.small_blocks);
}

TEST_F(Memory, PeakIsTheMostThatWasInUse) {
  {
    const Tensor a = bytes(2 * kMiB);
    {
      const Tensor b = bytes(4 * kMiB);
    }
    const Tensor c = bytes(kMiB);
    EXPECT_EQ(memory_stats().peak_data_bytes - start_.data_bytes, 6 * kMiB);
    reset_peak_memory();
    EXPECT_EQ(memory_stats().peak_data_bytes - start_.data_bytes, 3 * kMiB);
  }
  reset_peak_memory();
  EXPECT_EQ(memory_stats().peak_data_bytes, start_.data_bytes);
}

TEST_F(Memory, PassingTheLimitIsAMemoryErrorAndTheRestGoesOn) {
  set_memory_limit(start_.data_bytes + 4 * kMiB);
  EXPECT_EQ(memory_stats().limit_bytes, start_.data_bytes + 4 * kMiB);
  Tensor a = bytes(3 * kMiB);
  const auto error = thrown_by<MemoryError>([] { bytes(2 * kMiB); });
  EXPECT_EQ(error.op(), "empty");
  EXPECT_NE(error.message().find("an allocation of 2097152 bytes would exceed the limit"), std::string::npos)
      << error.message();
  EXPECT_THROW(bytes(kMiB + 1), MemoryError);
  EXPECT_EQ(used(), 3 * kMiB);
  EXPECT_EQ(memory_stats().peak_data_bytes - start_.data_bytes, 3 * kMiB);
  {
    const Tensor just_fits = bytes(kMiB);
  }
  a = Tensor();
  EXPECT_NO_THROW(bytes(4 * kMiB));
  set_memory_limit(0);
  EXPECT_NO_THROW(bytes(8 * kMiB));
  EXPECT_EQ(used(), 0);
}

TEST_F(Memory, ARefusedAllocationLosesNoBlock) {
  set_memory_limit(1);
  for (int i = 0; i < 10; ++i) EXPECT_THROW(zeros({1000, 1000}), MemoryError);
  for (int i = 0; i < 10; ++i) EXPECT_THROW(ones({1024}).to(kF64), MemoryError);
  EXPECT_EQ(memory_stats().small_blocks, start_.small_blocks);
  EXPECT_EQ(used(), 0);
}

TEST_F(Memory, ANegativeLimitIsNone) {
  set_memory_limit(-5);
  EXPECT_EQ(memory_stats().limit_bytes, 0);
}

TEST_F(Memory, AFreedLargeBlockIsReused) {
  void* first = nullptr;
  {
    const Tensor a = bytes(3 * kMiB);
    first = a.raw_data();
  }
  const MemoryStats before = memory_stats();
  EXPECT_EQ(before.cached_bytes, 4 * kMiB);
  const Tensor b = bytes(4 * kMiB - 5);  // of the same rounded size
  EXPECT_EQ(b.raw_data(), first);
  const MemoryStats after = memory_stats();
  EXPECT_EQ(after.large_allocations, before.large_allocations + 1);
  EXPECT_EQ(after.large_reused, before.large_reused + 1);
  EXPECT_EQ(after.cached_bytes, 0);
}

TEST_F(Memory, ASomewhatLargerBlockIsReusedAndKeepsItsSize) {
  void* first = nullptr;
  {
    const Tensor a = bytes(6 * kMiB);
    first = a.raw_data();
  }
  {
    const Tensor b = bytes(4 * kMiB);
    EXPECT_EQ(b.raw_data(), first);
    EXPECT_EQ(memory_stats().cached_bytes, 0);
  }
  EXPECT_EQ(memory_stats().cached_bytes, 6 * kMiB);
  const Tensor c = bytes(2 * kMiB);  // would waste two thirds of it
  EXPECT_NE(c.raw_data(), first);
  EXPECT_EQ(memory_stats().cached_bytes, 6 * kMiB);
}

TEST_F(Memory, ABlockOfAnotherSizeIsNotReused) {
  {
    bytes(3 * kMiB);
  }
  const MemoryStats before = memory_stats();
  const Tensor b = bytes(9 * kMiB);
  EXPECT_EQ(memory_stats().large_reused, before.large_reused);
  EXPECT_EQ(memory_stats().large_allocations, before.large_allocations + 1);
}

TEST_F(Memory, SmallerBlocksAreNotAskedOfTheCache) {
  const MemoryStats before = memory_stats();
  {
    bytes(kMiB - 1);
  }
  EXPECT_EQ(memory_stats().large_allocations, before.large_allocations);
  EXPECT_EQ(memory_stats().cached_bytes, 0);
}

TEST_F(Memory, EmptyCacheGivesEverythingBack) {
  {
    const Tensor a = bytes(3 * kMiB), b = bytes(5 * kMiB);
  }
  EXPECT_GT(memory_stats().cached_bytes, 0);
  empty_cache();
  EXPECT_EQ(memory_stats().cached_bytes, 0);
  const std::int64_t reused = memory_stats().large_reused;
  bytes(3 * kMiB);
  EXPECT_EQ(memory_stats().large_reused, reused);
}

TEST_F(Memory, TheCacheKeepsNoMoreThanItsLimit) {
  set_cache_limit(6 * kMiB);
  EXPECT_EQ(memory_stats().cache_limit_bytes, 6 * kMiB);
  {
    const Tensor a = bytes(4 * kMiB), b = bytes(4 * kMiB), c = bytes(2 * kMiB);
  }
  EXPECT_LE(memory_stats().cached_bytes, 6 * kMiB);
  EXPECT_GT(memory_stats().cached_bytes, 0);
  set_cache_limit(3 * kMiB);
  EXPECT_LE(memory_stats().cached_bytes, 3 * kMiB);
  set_cache_limit(0);
  {
    bytes(2 * kMiB);
  }
  EXPECT_EQ(memory_stats().cached_bytes, 0);
}

TEST_F(Memory, RoundingWastesAtMostAnEighthFromSixteenMebibytesUp) {
  for (const std::int64_t size : {16 * kMiB, 16 * kMiB + 1, 17 * kMiB, 31 * kMiB + 7, 32 * kMiB + 1,
                                  63 * kMiB, 64 * kMiB + 1, 100 * kMiB, 257 * kMiB, 600 * kMiB + 3}) {
    {
      bytes(size);
    }  // never touched, so it costs addresses only
    const std::int64_t rounded = memory_stats().cached_bytes;
    EXPECT_GE(rounded, size);
    EXPECT_LE(rounded - size, size / 8) << size;
    empty_cache();
  }
}

TEST_F(Memory, BelowSixteenMebibytesRoundingWastesLessThanAHugePage) {
  for (std::int64_t size = kMiB; size < 16 * kMiB; size += kMiB / 2 + 1) {
    {
      bytes(size);
    }
    EXPECT_LT(memory_stats().cached_bytes - size, 2 * kMiB) << size;
    empty_cache();
  }
}

TEST_F(Memory, RandomLifetimesBalance) {
  test::Random random;
  SCOPED_TRACE(random.repro());
  std::vector<Tensor> held(40);
  for (int i = 0; i < test::Random::share_of(4000); ++i) {
    Tensor& slot = held[static_cast<std::size_t>(random.between(0, 39))];
    slot = random.one_in(3) ? Tensor() : bytes(random.between(0, random.one_in(4) ? 3 * kMiB : 5000));
  }
  held.clear();
  EXPECT_EQ(used(), 0);
  EXPECT_EQ(memory_stats().small_blocks, start_.small_blocks);
}

// In another process with an alarm, because a rounding that overflows may never end.
TEST(MemoryDeathTest, MoreThanAnyMachineHasIsAMemoryErrorAtOnce) {
  for (const std::int64_t size : {std::int64_t{1} << 60, (std::int64_t{1} << 62) + 1, INT64_MAX}) {
    const auto ask = [&] {
      alarm(5);
      try {
        bytes(size);
      } catch (const MemoryError&) {
        _exit(0);
      }
      _exit(1);
    };
    EXPECT_EXIT(ask(), testing::ExitedWithCode(0), "") << size;
  }
}

}  // namespace
}  // namespace pel
