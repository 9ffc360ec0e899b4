// overlap() and overlaps_itself() against sets of bytes.
#include "tensor/overlap.h"

#include <bitset>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pellucid/dtype.h"
#include "pellucid/error.h"
#include "pellucid/ops.h"

#include "support/random.h"

namespace pel {
namespace {

constexpr std::size_t kMemory = 2048;
std::byte memory[kMemory];

struct Layout {
  std::vector<std::int64_t> sizes, strides;
  std::int64_t begin = 0;  // in bytes
  DType dtype = kF32;

  Operand operand() const {
    Operand o{};
    o.data = memory + begin;
    o.sizes = sizes.data();
    o.strides = strides.data();
    o.rank = static_cast<std::int32_t>(sizes.size());
    o.dtype = static_cast<std::uint8_t>(dtype);
    return o;
  }
  // The first byte of each element, in row-major order of the indices.
  std::vector<std::int64_t> addresses() const {
    std::vector<std::int64_t> all = {begin};
    for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
      std::vector<std::int64_t> next;
      for (std::int64_t base : all) {
        for (std::int64_t i = 0; i < sizes[axis]; ++i)
          next.push_back(base + i * strides[axis] * size_bytes(dtype));
      }
      all = std::move(next);
    }
    return all;
  }
  std::bitset<kMemory> bytes() const {
    std::bitset<kMemory> set;
    for (std::int64_t address : addresses()) {
      for (std::int64_t b = 0; b < size_bytes(dtype); ++b) set.set(static_cast<std::size_t>(address + b));
    }
    return set;
  }
  std::string text() const {
    std::ostringstream out;
    out << name(dtype) << " at " << begin << ":";
    for (std::size_t i = 0; i < sizes.size(); ++i) out << " " << sizes[i] << "*" << strides[i];
    return out.str();
  }
};

Layout random_layout(test::Random& random) {
  constexpr DType kDtypes[] = {kF64, kF32, kF16, kU8};
  Layout layout;
  layout.dtype = kDtypes[random.between(0, 3)];
  const std::int64_t rank = random.between(0, 3);
  for (std::int64_t i = 0; i < rank; ++i) {
    layout.sizes.push_back(random.one_in(25) ? 0 : random.between(1, 5));
    layout.strides.push_back(random.between(0, 9));
  }
  layout.begin = random.between(0, random.one_in(2) ? 16 : 200);
  return layout;
}

Overlap by_brute_force(const Layout& a, const Layout& b) {
  if ((a.bytes() & b.bytes()).none()) return Overlap::None;
  const bool same = a.dtype == b.dtype && a.sizes == b.sizes && a.addresses() == b.addresses();
  return same ? Overlap::Same : Overlap::Partial;
}

TEST(Overlap, AgreesWithBruteForceOnRandomPairs) {
  test::Random random;
  SCOPED_TRACE(random.repro());
  int found[3] = {};
  for (int i = 0; i < test::Random::share_of(60'000); ++i) {
    const Layout a = random_layout(random);
    Layout b = random.one_in(4) ? a : random_layout(random);
    if (random.one_in(4)) b.begin = a.begin;
    const Overlap expected = by_brute_force(a, b);
    ++found[static_cast<int>(expected)];
    ASSERT_EQ(static_cast<int>(overlap(a.operand(), b.operand())), static_cast<int>(expected))
        << a.text() << " against " << b.text();
    ASSERT_EQ(static_cast<int>(overlap(b.operand(), a.operand())), static_cast<int>(expected))
        << b.text() << " against " << a.text();
  }
  EXPECT_GT(found[static_cast<int>(Overlap::None)], 0);
  EXPECT_GT(found[static_cast<int>(Overlap::Same)], 0);
  EXPECT_GT(found[static_cast<int>(Overlap::Partial)], 0);
}

TEST(OverlapsItself, AgreesWithBruteForceOnRandomLayouts) {
  test::Random random;
  SCOPED_TRACE(random.repro());
  int found[2] = {};
  for (int i = 0; i < test::Random::share_of(40'000); ++i) {
    const Layout layout = random_layout(random);
    const std::vector<std::int64_t> all = layout.addresses();
    const bool expected = std::set<std::int64_t>(all.begin(), all.end()).size() != all.size();
    ++found[expected];
    ASSERT_EQ(overlaps_itself(layout.operand()), expected) << layout.text();
  }
  EXPECT_GT(found[0], 0);
  EXPECT_GT(found[1], 0);
}

TEST(Overlap, InterleavedColumnsDoNotOverlap) {
  const Layout even{{4, 5}, {10, 2}, 0, kF32}, odd{{4, 5}, {10, 2}, 4, kF32};
  EXPECT_EQ(overlap(even.operand(), odd.operand()), Overlap::None);
  const Layout shifted{{4, 5}, {10, 2}, 2, kF32};
  EXPECT_EQ(overlap(even.operand(), shifted.operand()), Overlap::Partial);
}

TEST(Overlap, ATransposedSquareIsPartial) {
  const Layout square{{3, 3}, {3, 1}, 0, kF32}, transposed{{3, 3}, {1, 3}, 0, kF32};
  EXPECT_EQ(overlap(square.operand(), transposed.operand()), Overlap::Partial);
}

TEST(Overlap, StridesOfSizeOneAxesDoNotMatter) {
  const Layout a{{1, 3}, {3, 1}, 0, kF32}, b{{1, 3}, {77, 1}, 0, kF32};
  EXPECT_EQ(overlap(a.operand(), b.operand()), Overlap::Same);
}

TEST(Overlap, EmptyOperandsNeverOverlap) {
  const Layout empty{{0, 3}, {3, 1}, 0, kF32}, full{{3}, {1}, 0, kF32};
  EXPECT_EQ(overlap(empty.operand(), full.operand()), Overlap::None);
  EXPECT_EQ(overlap(empty.operand(), empty.operand()), Overlap::None);
  EXPECT_FALSE(overlaps_itself(empty.operand()));
}

TEST(Overlap, HardRankEightPairIsAnsweredQuickly) {
  Layout a, b;
  for (std::int64_t i = 0; i < 8; ++i) {
    a.sizes.push_back(1000);
    a.strides.push_back(6'000 + 35 * i);
    b.sizes.push_back(1000);
    b.strides.push_back(6'005 + 77 * i);
  }
  b.begin = 1;
  EXPECT_NE(overlap(a.operand(), b.operand()), Overlap::Same);
}

TEST(OverlapsItself, SlidingWindowsDoAndRowsDoNot) {
  const Layout windows{{4, 3}, {1, 1}, 0, kF32}, rows{{4, 3}, {3, 1}, 0, kF32};
  EXPECT_TRUE(overlaps_itself(windows.operand()));
  EXPECT_FALSE(overlaps_itself(rows.operand()));
}

TEST(OverlapsItself, ManyMoreIndicesThanAnIntegerCountsAreStillAnswered) {
  Layout layout;
  for (int i = 0; i < 10; ++i) {
    layout.sizes.push_back(128);
    layout.strides.push_back(1);
  }
  EXPECT_TRUE(overlaps_itself(layout.operand()));
}

TEST(Overlap, WritesThroughOverlappingTensorsAreRefusedAndInterleavedOnesWork) {
  const Tensor x = arange(12).view({3, 4});
  EXPECT_THROW(x[{Slice(0, 2)}].copy_(x[{Slice(1, 3)}]), AliasError);
  EXPECT_THROW(x.expand({2, 3, 4}).copy_(x), AliasError);
  EXPECT_NO_THROW(x.slice(1, 0, std::nullopt, 2).copy_(x.slice(1, 1, std::nullopt, 2)));
  EXPECT_EQ((x[{1, 0}].item().to_int()), 5);
  EXPECT_NO_THROW(x.copy_(x));
}

}  // namespace
}  // namespace pel
