// The memory of the devices: memory in use, memory cached for reuse, and limits. Functions without a device
// are for the CPU.
#pragma once

#include <cstdint>

#include "pellucid/api.h"
#include "pellucid/device.h"

namespace pel {

// Small tensors (header and data in one block of at most about 1 KiB) come from per-thread free lists;
// blocks of 1 MiB and more from a cache of 2 MiB-aligned mappings with huge pages advised; the rest from
// malloc.
struct MemoryStats {
  std::int64_t small_blocks;       // in use
  std::int64_t data_bytes;         // in use, outside small blocks
  std::int64_t peak_data_bytes;    // since the start or reset_peak_memory
  std::int64_t cached_bytes;       // mapped and free, for reuse
  std::int64_t large_allocations;  // asked of the cache
  std::int64_t large_reused;       // of these, served without a new mapping
  std::int64_t limit_bytes;        // of data_bytes; 0 is none
  std::int64_t cache_limit_bytes;  // of cached_bytes
};
PEL_API MemoryStats memory_stats();
PEL_API void reset_peak_memory();
// Of an asynchronous device: all data lies in blocks of large segments. large_allocations counts blocks,
// cached_bytes is what the segments have free, and there is no limit for it (cache_limit_bytes is -1).
PEL_API MemoryStats memory_stats(Device device);
PEL_API void reset_peak_memory(Device device);

// Allocations that would raise data_bytes above the limit fail with MemoryError. PELLUCID_MEMORY_LIMIT sets
// it at start.
PEL_API void set_memory_limit(std::int64_t bytes);
PEL_API void set_memory_limit(Device device, std::int64_t bytes);
// Free blocks above the limit are returned to the system. PELLUCID_CACHE_LIMIT sets it at start; the default
// is a quarter of RAM.
PEL_API void set_cache_limit(std::int64_t bytes);
// Returns all free blocks to the system.
PEL_API void empty_cache();
PEL_API void empty_cache(Device device);  // waits for an asynchronous device

}  // namespace pel
