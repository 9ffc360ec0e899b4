// Layouts of buffers that no tensor has.
#include "compile/memory_layout.h"

#include <gtest/gtest.h>

namespace pel {
namespace {

using compiler::lay_out, compiler::LayoutBuffer, compiler::LayoutStep, compiler::MemoryLayout;
using Kind = LayoutBuffer::Kind;

LayoutBuffer given() { return {.kind = Kind::Given, .bytes = 1 << 20, .first = 0, .last = 9}; }
LayoutBuffer temporary(std::int64_t bytes, std::size_t first, std::size_t last) {
  return {.kind = Kind::Temporary, .bytes = bytes, .first = first, .last = last};
}
LayoutBuffer result(std::int64_t bytes, std::size_t first, std::uint32_t number = 0) {
  return {.kind = Kind::Result, .bytes = bytes, .first = first, .last = 9, .result = number};
}
// Reads buffer `from` and writes `to`; equal views.
LayoutStep step(std::uint32_t from, std::uint32_t to, std::uint64_t overwrites = 0) {
  return {.outputs = {{to, 0}}, .inputs = {{from, 0}}, .overwrites = overwrites};
}

TEST(MemoryLayout, TemporariesThatAreNeverInUseTogetherShareTheArena) {
  const MemoryLayout layout =
      lay_out({given(), temporary(4096, 0, 1), temporary(4096, 1, 2), temporary(4096, 2, 3)},
              {step(0, 1), step(1, 2), step(2, 3), step(3, 3)});
  EXPECT_EQ(layout.arena_bytes, 2 * 4096);
  EXPECT_EQ(layout.live_bytes(), 2 * 4096);
  EXPECT_EQ(layout.slots[1].offset, layout.slots[3].offset);
  EXPECT_NE(layout.slots[1].offset, layout.slots[2].offset);
}

TEST(MemoryLayout, AnOutputOverwritesAnInputThatNothingReadsLater) {
  const std::vector<LayoutBuffer> buffers = {given(), temporary(4096, 0, 1), temporary(4096, 1, 2)};
  const MemoryLayout layout = lay_out(buffers, {step(0, 1), step(1, 2, 1), step(2, 2)});
  EXPECT_EQ(layout.root, (std::vector<std::uint32_t>{0, 1, 1}));
  EXPECT_EQ(layout.arena_bytes, 4096);
  EXPECT_EQ(layout.slots[1].buffer.last, 2U);
}

TEST(MemoryLayout, AnOutputDoesNotOverwrite) {
  const auto roots = [](const std::vector<LayoutBuffer>& buffers, const std::vector<LayoutStep>& steps) {
    return lay_out(buffers, steps).root;
  };
  const std::vector<std::uint32_t> apart = {0, 1, 2};
  const LayoutBuffer early = temporary(4096, 0, 1), late = temporary(4096, 1, 2);
  EXPECT_EQ(roots({given(), early, late}, {step(0, 1), step(1, 2), step(2, 2)}), apart)
      << "the kernel must not";
  EXPECT_EQ(roots({given(), temporary(4096, 0, 2), late}, {step(0, 1), step(1, 2, 1), step(1, 1)}), apart)
      << "the input is read later";
  EXPECT_EQ(roots({given(), early, temporary(2048, 1, 2)}, {step(0, 1), step(1, 2, 1), step(2, 2)}), apart)
      << "the sizes differ";
  EXPECT_EQ(roots({given(), early, late}, {step(0, 1), {{{2, 0}}, {{1, 1}}, 1}, step(2, 2)}), apart)
      << "the views differ";
  EXPECT_EQ(roots({given(), early, late}, {step(0, 1), {{{2, 0}}, {{1, 0}, {1, 1}}, 1}, step(2, 2)}), apart)
      << "another operand reads other elements of it";
  EXPECT_EQ(roots({given(), given(), late}, {step(0, 1), step(1, 2, 1), step(2, 2)}), apart)
      << "the input belongs to the caller";
}

TEST(MemoryLayout, ATemporaryLiesInAResultThatIsWrittenLater) {
  const MemoryLayout layout =
      lay_out({given(), temporary(4096, 0, 1), result(8192, 2)}, {step(0, 1), step(1, 1), step(0, 2)});
  EXPECT_EQ(layout.arena_bytes, 0);
  EXPECT_EQ(layout.slots[1].host, std::optional<std::uint32_t>(2));
  ASSERT_EQ(layout.allocations.size(), 1U);
  EXPECT_EQ(layout.allocations[0].step, 0U);  // when the temporary is written
  EXPECT_EQ(layout.hosted, (std::vector<std::uint32_t>{1}));
  EXPECT_EQ(layout.result_bytes(), 8192);
}

TEST(MemoryLayout, AResultIsAllocatedWhenItIsWritten) {
  const MemoryLayout layout =
      lay_out({given(), result(8192, 1, 0), result(4096, 0, 1)}, {step(0, 2), step(0, 1)});
  ASSERT_EQ(layout.allocations.size(), 2U);
  EXPECT_EQ(layout.allocations[0].buffer, 2U);
  EXPECT_EQ(layout.allocations[1].buffer, 1U);
  EXPECT_EQ(layout.slots[2].buffer.result, 1U);
  EXPECT_GE(layout.peak_bytes(), 8192 + 4096);
}

// The arena is held to the end of a run: with a temporary that neither result can hold, next to both of them.
TEST(MemoryLayout, ALargeTemporaryIsFreedBeforeResultsThatCannotHoldIt) {
  constexpr std::int64_t kMegabyte = 1 << 20;
  const MemoryLayout layout = lay_out(
      {given(), temporary(8 * kMegabyte, 0, 1), result(4 * kMegabyte, 2, 0), result(4 * kMegabyte, 3, 1)},
      {step(0, 1), step(1, 0), step(0, 2), step(0, 3)});
  EXPECT_TRUE(layout.slots[1].is_alone);
  EXPECT_EQ(layout.arena_bytes, 0);
  ASSERT_EQ(layout.frees.size(), 1U);
  EXPECT_EQ(layout.frees[0].step, 1U);
  EXPECT_LE(layout.peak_bytes(), 8 * kMegabyte + 4096);
}

}  // namespace
}  // namespace pel
