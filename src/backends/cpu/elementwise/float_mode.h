// Kernels run under one floating-point environment, whatever the caller has set.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace pel::cpu {

// The control register: rounding, traps, and what happens to denormals.
struct FloatControl {
#if defined(__x86_64__)
  static constexpr std::uint64_t kDefault = 0x1f80, kFlushing = 0x9fc0;
  static constexpr std::uint64_t kFlags = 0x3f;  // what has happened
  static std::uint64_t read() { return _mm_getcsr(); }
  static void write(std::uint64_t mode) { _mm_setcsr(static_cast<unsigned>(mode)); }
#else
  static constexpr std::uint64_t kDefault = 0, kFlushing = std::uint64_t{1} << 24;
  static constexpr std::uint64_t kFlags = 0;  // are in another register
  static std::uint64_t read() {
    std::uint64_t mode;
    asm volatile("mrs %0, fpcr" : "=r"(mode));
    return mode;
  }
  static void write(std::uint64_t mode) { asm volatile("msr fpcr, %0" ::"r"(mode)); }
#endif
};

// Sets rounding to nearest, without traps, while in scope.
template <std::uint64_t kMode>
class FloatMode {
 public:
  FloatMode() : saved_(FloatControl::read()) {
    if ((saved_ & ~FloatControl::kFlags) != kMode) [[unlikely]]
      FloatControl::write(kMode);
  }
  ~FloatMode() {
    if ((saved_ & ~FloatControl::kFlags) != kMode) [[unlikely]]
      FloatControl::write(saved_);
  }
  FloatMode(const FloatMode&) = delete;
  FloatMode& operator=(const FloatMode&) = delete;

 private:
  std::uint64_t saved_;
};

using DefaultFloatMode = FloatMode<FloatControl::kDefault>;  // preserves denormals
using FlushingFloatMode =
    FloatMode<FloatControl::kFlushing>;  // flushes denormal operands and results to zero

}  // namespace pel::cpu
