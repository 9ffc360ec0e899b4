// Kernels run under one floating-point environment, whatever the caller has set.
#pragma once

#include <xmmintrin.h>

namespace pel::cpu {

// Sets rounding to nearest, without traps, while in scope.
template <unsigned Mode>
class FloatMode {
 public:
  FloatMode() : saved_(_mm_getcsr()) {
    if ((saved_ & ~kFlags) != Mode) [[unlikely]]
      _mm_setcsr(Mode);
  }
  ~FloatMode() {
    if ((saved_ & ~kFlags) != Mode) [[unlikely]]
      _mm_setcsr(saved_);
  }
  FloatMode(const FloatMode&) = delete;
  FloatMode& operator=(const FloatMode&) = delete;

 private:
  static constexpr unsigned kFlags = 0x3f;
  unsigned saved_;
};
using DefaultFloatMode = FloatMode<0x1f80>;   // preserves denormals
using FlushingFloatMode = FloatMode<0x9fc0>;  // flushes denormal operands and results to zero

}  // namespace pel::cpu
