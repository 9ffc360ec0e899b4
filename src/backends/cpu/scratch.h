// Scratch memory of kernels.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>

#include "base/check.h"

namespace pel::cpu {

// Scratch memory that a thread reuses in its next call. 64-byte aligned.
class Scratch {
 public:
  char* take(std::int64_t bytes) {
    if (bytes > size_) {
      memory_.reset(
          static_cast<char*>(std::aligned_alloc(64, static_cast<std::size_t>((bytes + 63) / 64 * 64))));
      PEL_CHECK(memory_ != nullptr, MemoryError, "could not allocate {} bytes of scratch memory", bytes);
      size_ = bytes;
    }
    return memory_.get();
  }

 private:
  struct Free {
    void operator()(char* p) const { std::free(p); }
  };
  std::unique_ptr<char, Free> memory_;
  std::int64_t size_ = 0;
};

}  // namespace pel::cpu
