// Blocks for tensor headers and small data: per-thread free lists over malloc.
//
// A block freed on another thread joins that thread's list. Lists that grow too long, and those of a thread
// that ends, go to a shared list, from which an empty one is refilled in batches: a thread that only
// allocates and one that only frees stay in balance at one lock per kBatch blocks.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace pel {

inline constexpr int kBlockClasses = 17;
inline constexpr std::size_t kBlockBytes =
    192;                                       // of class 0: a header of rank 6 and its storage, to the byte
inline constexpr std::size_t kBlockStep = 64;  // each class adds one cache line
constexpr std::size_t block_bytes(int block_class) {
  return kBlockBytes + kBlockStep * static_cast<std::size_t>(block_class);
}

constexpr int block_class_for(std::size_t bytes) {
  return bytes <= kBlockBytes ? 0 : static_cast<int>((bytes - kBlockBytes + kBlockStep - 1) / kBlockStep);
}

struct FreeBlock {
  FreeBlock* next;
};

// Arrays and narrow counts, because the thread_local variables of the library must be small.
struct ThreadBlocks {
  FreeBlock* free[kBlockClasses] = {};  // a list for each class
  std::uint16_t free_count[kBlockClasses] = {};
  std::uint16_t max_count = 0;          // per list; 0 before the first use and after the thread's end
  std::atomic<std::int64_t> in_use{0};  // taken minus returned; may be negative. Only this thread writes.

  void count_in_use(std::int64_t change) {
    in_use.store(in_use.load(std::memory_order_relaxed) + change, std::memory_order_relaxed);
  }
};
extern constinit thread_local ThreadBlocks thread_blocks;

void* take_block_slow(int block_class);
void give_block_slow(void* block, int block_class) noexcept;
void poison_block(void* block, int block_class) noexcept;  // for AddressSanitizer; nothing otherwise
void unpoison_block(void* block, int block_class) noexcept;
std::int64_t blocks_in_use();

#if defined(__SANITIZE_ADDRESS__)
#define PEL_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define PEL_ASAN 1
#endif
#endif

// 64-byte aligned, uninitialised.
inline void* take_block(int block_class) {
  ThreadBlocks& mine = thread_blocks;
  FreeBlock* block = mine.free[block_class];
  if (block == nullptr) [[unlikely]]
    return take_block_slow(block_class);
  mine.count_in_use(1);
  mine.free[block_class] = block->next;
  --mine.free_count[block_class];
#ifdef PEL_ASAN
  unpoison_block(block, block_class);
#endif
  return block;
}

inline void give_block(void* memory, int block_class) noexcept {
  ThreadBlocks& mine = thread_blocks;
  if (mine.free_count[block_class] >= mine.max_count) [[unlikely]]
    return give_block_slow(memory, block_class);
  mine.count_in_use(-1);
  auto* block = static_cast<FreeBlock*>(memory);
  block->next = mine.free[block_class];
  mine.free[block_class] = block;
  ++mine.free_count[block_class];
#ifdef PEL_ASAN
  poison_block(block, block_class);
#endif
}

}  // namespace pel
