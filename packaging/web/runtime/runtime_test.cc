// Tests of allocator.cc and bytes.c as WebAssembly, where they run: node run_in_node.mjs runtime_test.wasm.
// main() prints the first failure of each test.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <new>
#include <string>
#include <vector>

extern "C" std::size_t failed_allocation_bytes();

namespace {

constexpr std::size_t kPageBytes = 64 << 10;

std::size_t memory_bytes() { return __builtin_wasm_memory_size(0) * kPageBytes; }

bool expect(bool holds, const char* what) {
  if (!holds) std::printf("FAILED: expected that %s\n", what);
  return holds;
}

// A linear congruential generator: the same numbers in every run.
class Numbers {
 public:
  std::uint32_t below(std::uint32_t end) {
    state_ = state_ * 6364136223846793005 + 1442695040888963407;
    return static_cast<std::uint32_t>(state_ >> 33) % end;
  }

 private:
  std::uint64_t state_ = 1;
};

// Memory whose bytes are all the same, so that an overlap with another is seen.
struct Block {
  unsigned char* bytes;
  std::size_t size;
  std::align_val_t alignment;
  unsigned char pattern;

  bool is_intact() const {
    return std::all_of(bytes, bytes + size, [this](unsigned char byte) { return byte == pattern; });
  }
};

Block new_block(Numbers& numbers, unsigned char pattern) {
  constexpr std::array<std::uint32_t, 5> kMaxBytes = {64, 1000, 40'000, 300'000, 2'000'000};
  constexpr std::array<std::size_t, 6> kAlignments = {1, 16, 32, 256, 4096, 65536};
  const std::size_t size = numbers.below(kMaxBytes[numbers.below(kMaxBytes.size())]);
  const std::align_val_t alignment{numbers.below(4) == 0 ? kAlignments[numbers.below(kAlignments.size())]
                                                         : 16};
  auto* const bytes = static_cast<unsigned char*>(
      alignment > std::align_val_t{16} ? operator new(size, alignment) : operator new(size));
  std::fill_n(bytes, size, pattern);
  return {bytes, size, alignment, pattern};
}
void delete_block(const Block& block) {
  if (block.alignment > std::align_val_t{16}) {
    operator delete(block.bytes, block.alignment);
  } else {
    operator delete(block.bytes);
  }
}

bool blocks_are_aligned_and_do_not_overlap() {
  Numbers numbers;
  std::vector<Block> blocks;
  for (unsigned round = 0; round < 20'000; ++round) {
    if (blocks.size() < 60 || numbers.below(2) == 0) {
      blocks.push_back(new_block(numbers, static_cast<unsigned char>(round)));
      const auto alignment = std::max<std::size_t>(16, static_cast<std::size_t>(blocks.back().alignment));
      if (!expect(reinterpret_cast<std::uintptr_t>(blocks.back().bytes) % alignment == 0,
                  "memory is aligned"))
        return false;
    }
    if (blocks.size() > 100 || numbers.below(2) == 0) {
      std::swap(blocks[numbers.below(static_cast<std::uint32_t>(blocks.size()))], blocks.back());
      if (!expect(blocks.back().is_intact(), "no other allocation writes into a block")) return false;
      delete_block(blocks.back());
      blocks.pop_back();
    }
  }
  const bool are_intact = std::ranges::all_of(blocks, &Block::is_intact);
  for (const Block& block : blocks) delete_block(block);
  return expect(are_intact, "all blocks are intact at the end");
}

bool empty_allocations_have_addresses_of_their_own() {
  void *const first = operator new(0), *const second = operator new(0);
  const bool differ = first != nullptr && second != nullptr && first != second;
  operator delete(first);
  operator delete(second);
  operator delete(nullptr);
  return expect(differ, "two allocations of no bytes have different addresses");
}

bool freed_cells_are_used_again() {
  std::vector<void*> cells(1000);
  for (void*& cell : cells) cell = operator new(48);
  for (void* const cell : cells) operator delete(cell);
  const std::size_t before = memory_bytes();
  for (unsigned round = 0; round < 1000; ++round) {
    for (void*& cell : cells) cell = operator new(48);
    for (void* const cell : cells) operator delete(cell);
  }
  return expect(memory_bytes() == before, "memory does not grow while cells are freed and used again");
}

bool freed_runs_are_joined() {
  constexpr std::size_t kRuns = 64, kRunBytes = 1 << 20;
  std::vector<void*> runs(kRuns);
  operator delete(operator new(kRuns * kRunBytes));  // free memory of that size, in one piece
  for (void*& run : runs) run = operator new(kRunBytes);
  // Every other run first, so that the rest is joined with free neighbours on both sides.
  for (std::size_t i = 0; i < kRuns; i += 2) operator delete(runs[i]);
  for (std::size_t i = 1; i < kRuns; i += 2) operator delete(runs[i]);
  const std::size_t before = memory_bytes();
  operator delete(operator new(kRuns * kRunBytes));
  return expect(memory_bytes() == before, "runs that were freed are one run again");
}

bool growth_is_what_was_asked_for() {
  const std::size_t before = memory_bytes();
  constexpr std::size_t kBytes = 300 << 20;  // more than was in use before
  void* const run = operator new(kBytes);
  const std::size_t grown = memory_bytes() - before;
  operator delete(run);
  return expect(grown <= kBytes + kPageBytes, "memory grows by no more than the allocation");
}

// A vector that doubles must fit next to its old self. Rounding up to powers of two would take twice as much.
bool large_sizes_are_rounded_to_pages() {
  const std::size_t before = memory_bytes();
  void* const run = operator new((std::size_t{1} << 29) + 1);
  const std::size_t grown = memory_bytes() - before;
  operator delete(run);
  return expect(grown <= (std::size_t{1} << 29) + kPageBytes,
                "a size just above a power of two is not doubled");
}

bool failures_are_reported() {
  if (!expect(failed_allocation_bytes() == 0, "no allocation has failed so far")) return false;
  constexpr std::size_t kTooMuch = SIZE_MAX - 100;
  if (!expect(operator new(kTooMuch, std::nothrow) == nullptr, "nothrow new returns null")) return false;
  if (!expect(failed_allocation_bytes() == kTooMuch, "the size that failed is known")) return false;
  constexpr std::size_t kThreeGigabytes = std::size_t{3} << 30;
  void* const first = operator new(kThreeGigabytes / 3, std::nothrow);
  bool has_thrown = false;
  try {
    operator delete(operator new(kThreeGigabytes));
  } catch (const std::bad_alloc&) {
    has_thrown = true;
  }
  operator delete(first);
  return expect(has_thrown, "new throws std::bad_alloc if there is no memory") &&
         expect(failed_allocation_bytes() == kThreeGigabytes, "the size that failed last is known") &&
         expect(operator new(100, std::nothrow) != nullptr,
                "small allocations succeed after a large one failed");
}

bool memchr_finds_the_first_byte_within_the_range() {
  std::string text(80, 'a');
  for (std::size_t begin = 0; begin < 20; ++begin) {
    for (std::size_t count = 0; count < 50; ++count) {
      // Before, inside and after the range.
      for (std::size_t at = 0; at < text.size(); ++at) {
        text[at] = text[text.size() - 1] = '\x80';
        const void* const expected = at >= begin && at < begin + count ? &text[at] : nullptr;
        const void* const found = std::memchr(&text[begin], 0x80, count);
        text[at] = 'a';
        if (!expect(found == expected, "memchr finds a byte within the range, and none outside"))
          return false;
      }
    }
  }
  return true;
}

bool memcmp_compares_the_first_difference() {
  std::string first(40, 'a'), second(40, 'a');
  for (std::size_t count = 0; count < 40; ++count) {
    for (std::size_t at = 0; at < 40; ++at) {
      first[at] = '\xff';                                  // greater than any other
      second[std::min<std::size_t>(at + 1, 39)] = '\xff';  // a later difference does not matter
      if (at == 39) second[39] = 'a';
      const int expected = at < count ? 1 : 0;
      const int found = std::memcmp(first.data(), second.data(), count);
      const int reversed = std::memcmp(second.data(), first.data(), count);
      std::ranges::fill(first, 'a');
      std::ranges::fill(second, 'a');
      if (!expect((found > 0) - (found < 0) == expected && (reversed > 0) - (reversed < 0) == -expected,
                  "memcmp orders by the first difference, as unsigned bytes"))
        return false;
    }
  }
  return true;
}

}  // namespace

int main() {
  const std::array tests = {blocks_are_aligned_and_do_not_overlap(),
                            empty_allocations_have_addresses_of_their_own(),
                            freed_cells_are_used_again(),
                            freed_runs_are_joined(),
                            growth_is_what_was_asked_for(),
                            large_sizes_are_rounded_to_pages(),
                            failures_are_reported(),
                            memchr_finds_the_first_byte_within_the_range(),
                            memcmp_compares_the_first_difference()};
  const auto failures = std::ranges::count(tests, false);
  std::printf("runtime_test: %zu tests, %d failures\n", tests.size(), static_cast<int>(failures));
  return failures == 0 ? 0 : 1;
}
