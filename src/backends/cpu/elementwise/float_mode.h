// Kernels run under one floating-point environment, whatever the caller has set.
#pragma once

#include <xmmintrin.h>

namespace pel::cpu {

// Rounding to nearest, no traps, while in scope.
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
using DefaultFloatMode = FloatMode<0x1f80>;   // denormals are kept
using FlushingFloatMode = FloatMode<0x9fc0>;  // and here they are zeros, as operands and as results

}  // namespace pel::cpu
