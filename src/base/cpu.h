// What the code says in the processor's own words: spinning, its time-stamp counter, addresses that no memory
// has. The instruction sets of kernels are in codegen/isa.h.
#pragma once

#include <cstdint>

#if !defined(__x86_64__) && !defined(__aarch64__)
#error "Tensors are built for x86-64 and aarch64; only the doctor is built for other processors"
#endif

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace pel {

// In a loop that waits for another thread: saves power, and leaves the core to the other thread that shares
// it.
inline void pause_spinning() {
#if defined(__x86_64__)
  _mm_pause();
#else
  asm volatile("isb");  // as long as a pause of x86-64; `yield` does nothing on most cores
#endif
}

// The counter that all cores share; it runs at the same speed whatever the clock of the core.
inline std::uint64_t time_stamp() {
#if defined(__x86_64__)
  return __rdtsc();
#else
  std::uint64_t value;
  asm volatile("mrs %0, cntvct_el0" : "=r"(value));
  return value;
#endif
}

// A bit that no address of the host has: a load from an address with it is a fault. x86-64 refuses such an
// address before it looks at the page tables. aarch64 ignores the upper eight bits, and then refuses
// addresses whose bits 48 to 55 differ.
#if defined(__x86_64__)
inline constexpr int kUnmappedBit = 62;
#else
inline constexpr int kUnmappedBit = 54;
#endif

}  // namespace pel
