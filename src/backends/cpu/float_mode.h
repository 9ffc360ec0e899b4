// Kernels run under the default floating-point environment, whatever the caller has set.
#pragma once

#include <xmmintrin.h>

namespace pel::cpu {

// Rounding to nearest, denormals kept, no traps, while in scope.
class DefaultFloatMode {
 public:
  DefaultFloatMode() : saved_(_mm_getcsr()) {
    if ((saved_ & ~kFlags) != kDefault) [[unlikely]]
      _mm_setcsr(kDefault);
  }
  ~DefaultFloatMode() {
    if ((saved_ & ~kFlags) != kDefault) [[unlikely]]
      _mm_setcsr(saved_);
  }
  DefaultFloatMode(const DefaultFloatMode&) = delete;
  DefaultFloatMode& operator=(const DefaultFloatMode&) = delete;

 private:
  static constexpr unsigned kDefault = 0x1f80, kFlags = 0x3f;
  unsigned saved_;
};

}  // namespace pel::cpu
