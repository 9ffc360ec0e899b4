#include "backends/cpu/gemm/avx512_transpose.h"

#include "backends/cpu/gemm/gemm_pack.h"
#include "base/check.h"

#if defined(__x86_64__)

#include <immintrin.h>

#ifndef __clang__  // g++ 12 warns about undefined values in its own header
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#define PEL_AVX512 __attribute__((target("avx512f,avx512bw")))

namespace pel::cpu {

// Each vector is built from four loads and inserts: shuffles have one port, inserts from memory two.
PEL_AVX512 void transpose_wide_square(char* to, std::int64_t to_step, const char* from,
                                      std::int64_t from_step) {
  for (int quad = 0; quad < 4; ++quad) {
    __m512 x[4];
    for (int i = 0; i < 4; ++i) {
      const auto part = [&](int column) PEL_AVX512 {
        return _mm_loadu_ps(reinterpret_cast<const float*>(from + column * from_step) + 4 * quad);
      };
      x[i] = _mm512_castps128_ps512(part(i));
      x[i] = _mm512_insertf32x4(x[i], part(i + 4), 1);
      x[i] = _mm512_insertf32x4(x[i], part(i + 8), 2);
      x[i] = _mm512_insertf32x4(x[i], part(i + 12), 3);
    }
    const __m512 a = _mm512_unpacklo_ps(x[0], x[1]), b = _mm512_unpackhi_ps(x[0], x[1]),
                 c = _mm512_unpacklo_ps(x[2], x[3]), d = _mm512_unpackhi_ps(x[2], x[3]);
    char* const row = to + 4 * quad * to_step;
    _mm512_storeu_ps(row, _mm512_shuffle_ps(a, c, 0x44));
    _mm512_storeu_ps(row + to_step, _mm512_shuffle_ps(a, c, 0xee));
    _mm512_storeu_ps(row + 2 * to_step, _mm512_shuffle_ps(b, d, 0x44));
    _mm512_storeu_ps(row + 3 * to_step, _mm512_shuffle_ps(b, d, 0xee));
  }
}

// Pairs of k pass through the lanes as 4-byte elements: 16 of them for 32 rows, in two halves of sixteen
// rows that UNPACK produces.
PEL_AVX512 void transpose_to_lines(char* to, int lines, const char* from, std::int64_t k_step,
                                   std::int64_t rows, std::int64_t depth) {
  constexpr int kQuad = 4;
  const __mmask32 row_mask = rows >= 32 ? ~__mmask32{0} : (__mmask32{1} << rows) - 1;
  const auto load = [&](std::int64_t k) PEL_AVX512 {
    return _mm512_maskz_loadu_epi16(k < depth ? row_mask : __mmask32{0}, from + k * k_step);
  };
  for (int half = 0; half < 2; ++half) {
    // [row of four][eight k]: each 128-bit lane holds another group of eight rows.
    __m512i quads[kQuad][kQuad];
    for (int q = 0; q < kQuad; ++q) {
      __m512i pairs[kQuad];
      for (int i = 0; i < kQuad; ++i) {
        const __m512i even = load(8 * q + 2 * i), odd = load(8 * q + 2 * i + 1);
        pairs[i] = half == 0 ? _mm512_unpacklo_epi16(even, odd) : _mm512_unpackhi_epi16(even, odd);
      }
      const __m512i a = _mm512_unpacklo_epi32(pairs[0], pairs[1]),
                    b = _mm512_unpackhi_epi32(pairs[0], pairs[1]),
                    c = _mm512_unpacklo_epi32(pairs[2], pairs[3]),
                    d = _mm512_unpackhi_epi32(pairs[2], pairs[3]);
      quads[0][q] = _mm512_unpacklo_epi64(a, c);
      quads[1][q] = _mm512_unpackhi_epi64(a, c);
      quads[2][q] = _mm512_unpacklo_epi64(b, d);
      quads[3][q] = _mm512_unpackhi_epi64(b, d);
    }
    for (int j = 0; j < kQuad; ++j) {
      const __m512i* const x = quads[j];
      const __m512i low = _mm512_shuffle_i32x4(x[0], x[1], 0x44),
                    low_rest = _mm512_shuffle_i32x4(x[2], x[3], 0x44),
                    high = _mm512_shuffle_i32x4(x[0], x[1], 0xee),
                    high_rest = _mm512_shuffle_i32x4(x[2], x[3], 0xee);
      char* const line = to + (4 * half + j) * kRegisterRow;
      _mm512_storeu_si512(line, _mm512_shuffle_i32x4(low, low_rest, 0x88));
      _mm512_storeu_si512(line + 8 * kRegisterRow, _mm512_shuffle_i32x4(low, low_rest, 0xdd));
      if (lines <= 16) continue;
      _mm512_storeu_si512(line + 16 * kRegisterRow, _mm512_shuffle_i32x4(high, high_rest, 0x88));
      _mm512_storeu_si512(line + 24 * kRegisterRow, _mm512_shuffle_i32x4(high, high_rest, 0xdd));
    }
  }
}

// In L1, 32 columns take 2.2 ns this way, 2.3 with VPERMW, 2.5 with VPERMT2W, and 2.9 in vectors of AVX2.
PEL_AVX512 void pair_columns(char* to, std::int64_t panel_bytes, const char* even, const char* odd,
                             std::int64_t columns) {
  // Groups of four columns, so that those of one register are in the lower halves of the 128-bit lanes.
  const __m512i order = _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7);
  for (std::int64_t c = 0; c < columns; c += 32, to += panel_bytes) {
    const __m512i x = _mm512_permutexvar_epi64(order, _mm512_loadu_si512(even + 2 * c)),
                  y = _mm512_permutexvar_epi64(order, _mm512_loadu_si512(odd + 2 * c));
    _mm512_storeu_si512(to, _mm512_unpacklo_epi16(x, y));
    _mm512_storeu_si512(to + kRegister, _mm512_unpackhi_epi16(x, y));
  }
}

}  // namespace pel::cpu

#else

namespace pel::cpu {

void transpose_wide_square(char*, std::int64_t, const char*, std::int64_t) {
  throw InternalError("there is no AVX-512 here");
}
void transpose_to_lines(char*, int, const char*, std::int64_t, std::int64_t, std::int64_t) {
  throw InternalError("there is no AVX-512 here");
}
void pair_columns(char*, std::int64_t, const char*, const char*, std::int64_t) {
  throw InternalError("there is no AVX-512 here");
}

}  // namespace pel::cpu

#endif
