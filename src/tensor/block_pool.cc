#include "tensor/block_pool.h"

#include <cstdlib>
#include <mutex>
#include <new>
#include <vector>

#include "base/check.h"

#ifdef PEL_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace pel {

constinit thread_local ThreadBlocks thread_blocks;

namespace {

constexpr std::uint16_t kMaxPerList = 256;
constexpr std::uint32_t kBatch = 64;
constexpr std::size_t kMaxShared = 4096;  // per class; more go back to malloc

// Never destroyed: tensors in static variables are freed after everything else.
struct Shared {
  std::mutex mutex;
  std::vector<FreeBlock*> free[kBlockClasses];
  std::vector<ThreadBlocks*> threads;
  std::int64_t in_use_of_ended_threads = 0;
};
Shared& shared() {
  static Shared* const instance = new Shared;
  return *instance;
}

void move_to_shared(Shared& all, int block_class, std::uint32_t count) {
  FreeBlock*& head = thread_blocks.free[block_class];
  for (; count > 0 && head != nullptr; --count, --thread_blocks.free_count[block_class]) {
    FreeBlock* block = head;
    head = block->next;
    if (all.free[block_class].size() < kMaxShared) {
      all.free[block_class].push_back(block);
    } else {
      unpoison_block(block, block_class);
      std::free(block);
    }
  }
}

thread_local bool thread_ended = false;

// Made on a thread's first slow call; destroyed at the thread's end.
struct Membership {
  Membership() {
    std::lock_guard lock(shared().mutex);
    shared().threads.push_back(&thread_blocks);
    thread_blocks.max_count = kMaxPerList;
  }
  ~Membership() {
    Shared& all = shared();
    std::lock_guard lock(all.mutex);
    thread_ended = true;
    thread_blocks.max_count = 0;  // what this thread still frees goes straight back to malloc
    for (int c = 0; c < kBlockClasses; ++c) move_to_shared(all, c, UINT32_MAX);
    all.in_use_of_ended_threads += thread_blocks.in_use.exchange(0);
    std::erase(all.threads, &thread_blocks);
  }
};

void join_pool() {
  if (!thread_ended) {
    thread_local Membership membership;
    static_cast<void>(membership);
  }
}

}  // namespace

void* take_block_slow(int block_class) {
  join_pool();
  Shared& all = shared();
  std::lock_guard lock(all.mutex);
  auto& free = all.free[block_class];
  void* block = nullptr;
  if (!free.empty()) {
    block = free.back();
    free.pop_back();
    unpoison_block(block, block_class);
    FreeBlock*& head = thread_blocks.free[block_class];
    for (std::uint32_t i = 1; i < kBatch && !free.empty() && !thread_ended; ++i) {
      free.back()->next = head;
      head = free.back();
      ++thread_blocks.free_count[block_class];
      free.pop_back();
    }
  } else {
    block = std::aligned_alloc(kBlockStep, block_bytes(block_class));
    PEL_CHECK(block != nullptr, MemoryError, "the system could not allocate a tensor header of {} bytes",
              block_bytes(block_class));
  }
  if (thread_ended) {
    ++all.in_use_of_ended_threads;
  } else {
    thread_blocks.count_in_use(1);
  }
  return block;
}

void give_block_slow(void* memory, int block_class) noexcept {
  join_pool();
  Shared& all = shared();
  std::lock_guard lock(all.mutex);
  if (thread_ended) {
    --all.in_use_of_ended_threads;
    std::free(memory);
    return;
  }
  // On the thread's first call its list is empty, and nothing moves.
  if (thread_blocks.free_count[block_class] >= thread_blocks.max_count)
    move_to_shared(all, block_class, kBatch);
  give_block(memory, block_class);
}

std::int64_t blocks_in_use() {
  Shared& all = shared();
  std::lock_guard lock(all.mutex);
  std::int64_t total = all.in_use_of_ended_threads;
  for (const ThreadBlocks* thread : all.threads) total += thread->in_use.load(std::memory_order_relaxed);
  return total;
}

#ifdef PEL_ASAN
// The link to the next free block stays readable, so that LeakSanitizer can follow the lists.
void poison_block(void* block, int block_class) noexcept {
  __asan_poison_memory_region(static_cast<char*>(block) + sizeof(FreeBlock),
                              block_bytes(block_class) - sizeof(FreeBlock));
}
void unpoison_block(void* block, int block_class) noexcept {
  __asan_unpoison_memory_region(block, block_bytes(block_class));
}
#else
void poison_block(void*, int) noexcept {}
void unpoison_block(void*, int) noexcept {}
#endif

}  // namespace pel
