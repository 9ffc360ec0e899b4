#include "tensor/data_allocator.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <map>
#include <mutex>
#include <unordered_map>

#include <sys/mman.h>
#include <unistd.h>

#include "pellucid/memory.h"

#include "base/check.h"
#include "base/environment.h"
#include "base/huge_pages.h"
#include "device/registry.h"
#include "profile/recorder.h"
#include "tensor/block_pool.h"

namespace pel {
namespace {

constexpr std::int64_t kMaxBytes = std::int64_t{1} << 47;  // the address space of a process

std::int64_t quarter_of_ram() { return sysconf(_SC_PHYS_PAGES) / 4 * sysconf(_SC_PAGESIZE); }

// Bytes in use against the limit. Counted where the request is made, before any memory is taken.
class Account {
 public:
  void charge(std::int64_t bytes) {
    PEL_CHECK(bytes <= kMaxBytes, MemoryError, "cannot allocate {} bytes: a process cannot address that many",
              bytes);
    const std::int64_t now = used_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    const std::int64_t limit = limit_.load(std::memory_order_relaxed);
    if (limit != 0 && now > limit) {
      used_.fetch_sub(bytes, std::memory_order_relaxed);
      PEL_CHECK(
          false, MemoryError,
          "an allocation of {} bytes would exceed the limit of {} bytes: {} are in use (set_memory_limit or "
          "PELLUCID_MEMORY_LIMIT raises it)",
          bytes, limit, now - bytes);
    }
    profile::note_memory(bytes, now);
    std::int64_t peak = peak_.load(std::memory_order_relaxed);
    while (now > peak && !peak_.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
    }
  }
  void refund(std::int64_t bytes) {
    const std::int64_t now = used_.fetch_sub(bytes, std::memory_order_relaxed) - bytes;
    profile::note_memory(-bytes, now);
  }
  std::int64_t used() const { return used_.load(std::memory_order_relaxed); }
  std::int64_t peak() const { return peak_.load(std::memory_order_relaxed); }
  void reset_peak() { peak_.store(used(), std::memory_order_relaxed); }
  std::int64_t limit() const { return limit_.load(std::memory_order_relaxed); }
  void set_limit(std::int64_t bytes) { limit_.store(bytes, std::memory_order_relaxed); }

 private:
  std::atomic<std::int64_t> used_{0}, peak_{0};
  std::atomic<std::int64_t> limit_{environment_bytes("PELLUCID_MEMORY_LIMIT").value_or(0)};
};
Account& account() {
  static Account* const instance = new Account;  // outlives every tensor
  return *instance;
}

// Caches freed mappings. A new mapping of 96 MiB costs 39 ms of page faults, a cached one none.
class LargeCache {
 public:
  // Eight sizes per power of two, at most 12.5 % more than asked for, but huge pages are whole ones.
  static std::int64_t round_up(std::int64_t bytes) {
    std::int64_t step = is_huge(bytes) ? std::int64_t{kHugePageBytes} : kLargeBytes / 8;
    while (step * 16 < bytes) step *= 2;
    return (bytes + step - 1) / step * step;
  }

  std::byte* take(std::int64_t rounded) {
    {
      std::lock_guard lock(mutex_);
      ++asked_;
      if (const auto it = free_.lower_bound(rounded);
          it != free_.end() && it->first <= kMaxTimes * rounded && is_huge(it->first) == is_huge(rounded)) {
        const auto [size, block] = *it;
        free_.erase(it);
        cached_ -= size;
        ++reused_;
        if (size != rounded) larger_.emplace(block, size);
        return block;
      }
    }
    if (std::byte* block = map(rounded)) return block;
    trim(0);  // return the cache to the system, then try once more
    std::byte* block = map(rounded);
    PEL_CHECK(block != nullptr, MemoryError, "the system could not allocate {} bytes; {} are in use", rounded,
              account().used());
    return block;
  }

  void put(std::byte* block, std::int64_t rounded) {
    {
      std::lock_guard lock(mutex_);
      if (const auto it = larger_.find(block); it != larger_.end()) {
        rounded = it->second;
        larger_.erase(it);
      }
      if (cached_ + rounded <= limit_) {
        free_.emplace(rounded, block);
        cached_ += rounded;
        return;
      }
    }
    munmap(block, static_cast<std::size_t>(rounded));
  }

  // Releases the largest blocks first, until no more than `max_bytes` are cached.
  void trim(std::int64_t max_bytes) {
    std::lock_guard lock(mutex_);
    while (cached_ > max_bytes) {
      const auto last = std::prev(free_.end());
      munmap(last->second, static_cast<std::size_t>(last->first));
      cached_ -= last->first;
      free_.erase(last);
    }
  }
  void set_limit(std::int64_t bytes) {
    {
      std::lock_guard lock(mutex_);
      limit_ = bytes;
    }
    trim(bytes);
  }
  void fill(MemoryStats& stats) {
    std::lock_guard lock(mutex_);
    stats.cached_bytes = cached_;
    stats.large_allocations = asked_;
    stats.large_reused = reused_;
    stats.cache_limit_bytes = limit_;
  }

 private:
  // A block that is smaller than a huge page would leave the rest of it unused.
  static bool is_huge(std::int64_t bytes) { return bytes > std::int64_t{kHugePageBytes} - kLargeBytes / 8; }
  static std::byte* map(std::int64_t rounded) {
    return is_huge(rounded) ? map_huge_pages(static_cast<std::size_t>(rounded))
                            : map_pages(static_cast<std::size_t>(rounded));
  }

  // The smallest free block that fits is reused if it is so many times as large or less. A step of GPT-2 that
  // has 246 MB in use at its peak then maps 271 MB; with blocks of the same size alone 387, with 1.5 times
  // 352.
  static constexpr std::int64_t kMaxTimes = 2;

  std::mutex mutex_;
  std::multimap<std::int64_t, std::byte*> free_;
  std::unordered_map<std::byte*, std::int64_t>
      larger_;  // sizes of blocks in use that are larger than asked for
  std::int64_t cached_ = 0, asked_ = 0, reused_ = 0;
  std::int64_t limit_ = environment_bytes("PELLUCID_CACHE_LIMIT").value_or(quarter_of_ram());
};
LargeCache& large_cache() {
  static LargeCache* const instance = new LargeCache;
  return *instance;
}

void release_malloced(detail::StorageHeader& storage) noexcept {
  account().refund(storage.size_bytes);
  std::free(storage.data);
}
void release_large(detail::StorageHeader& storage) noexcept {
  account().refund(storage.size_bytes);
  large_cache().put(storage.data, LargeCache::round_up(storage.size_bytes));
}

}  // namespace

void allocate_data(detail::StorageHeader& storage, std::int64_t bytes) {
  account().charge(bytes);
  try {
    storage.size_bytes = bytes;
    if (bytes >= kLargeBytes) {
      storage.data = large_cache().take(LargeCache::round_up(bytes));
      storage.release = release_large;
    } else {
      storage.data =
          static_cast<std::byte*>(std::aligned_alloc(64, (static_cast<std::size_t>(bytes) + 63) / 64 * 64));
      PEL_CHECK(storage.data != nullptr, MemoryError, "the system could not allocate {} bytes", bytes);
      storage.release = release_malloced;
    }
  } catch (...) {
    account().refund(bytes);
    throw;
  }
}

MemoryStats memory_stats() {
  MemoryStats stats{};
  stats.small_blocks = blocks_in_use();
  stats.data_bytes = account().used();
  stats.peak_data_bytes = account().peak();
  stats.limit_bytes = account().limit();
  large_cache().fill(stats);
  return stats;
}
void reset_peak_memory() { account().reset_peak(); }
void set_memory_limit(std::int64_t bytes) { account().set_limit(std::max<std::int64_t>(bytes, 0)); }
void set_cache_limit(std::int64_t bytes) { large_cache().set_limit(std::max<std::int64_t>(bytes, 0)); }
void empty_cache() { large_cache().trim(0); }

MemoryStats memory_stats(Device device) {
  return is_asynchronous(device) ? device_of(device).memory() : memory_stats();
}
void reset_peak_memory(Device device) {
  if (is_asynchronous(device)) return device_of(device).reset_peak();
  reset_peak_memory();
}
void set_memory_limit(Device device, std::int64_t bytes) {
  if (is_asynchronous(device)) return device_of(device).set_limit(bytes);
  set_memory_limit(bytes);
}
void empty_cache(Device device) {
  if (is_asynchronous(device)) return device_of(device).empty_cache(Site());
  empty_cache();
}

}  // namespace pel
