// memchr and memcmp by words and vectors. Those of zig's libc go byte by byte, which took a twentieth of the
// time of a trace. Vectors are loaded at multiples of 16, so that none reaches beyond the end of memory.
#include <stddef.h>
#include <stdint.h>
#include <wasm_simd128.h>

void* memchr(const void* bytes, int byte, size_t count) {
  if (count == 0) return NULL;
  const v128_t wanted = wasm_i8x16_splat((int8_t)byte);
  const uintptr_t begin = (uintptr_t)bytes, end = begin + count;
  uintptr_t at = begin & ~(uintptr_t)15;
  uint32_t found = wasm_i8x16_bitmask(wasm_i8x16_eq(wasm_v128_load((const void*)at), wanted));
  found &= ~0u << (begin - at);  // bytes before the first one
  while (found == 0) {
    at += 16;
    if (at >= end) return NULL;
    found = wasm_i8x16_bitmask(wasm_i8x16_eq(wasm_v128_load((const void*)at), wanted));
  }
  at += (uintptr_t)__builtin_ctz(found);
  return at < end ? (void*)at : NULL;
}

static uint64_t load_big_endian(const unsigned char* bytes) {
  uint64_t word;
  __builtin_memcpy(&word, bytes, sizeof(word));
  return __builtin_bswap64(word);
}

int memcmp(const void* first, const void* second, size_t count) {
  const unsigned char *a = first, *b = second;
  size_t at = 0;
  if (count >= 8) {
    for (const size_t last = count - 8;;) {  // the last word overlaps the one before it
      const uint64_t x = load_big_endian(a + at), y = load_big_endian(b + at);
      if (x != y) return x < y ? -1 : 1;
      if (at == last) return 0;
      at = at + 8 < last ? at + 8 : last;
    }
  }
  for (; at < count; ++at) {
    if (a[at] != b[at]) return a[at] < b[at] ? -1 : 1;
  }
  return 0;
}
