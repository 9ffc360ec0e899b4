#include "backends/cpu/tile.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include <immintrin.h>

namespace pel::cpu {
namespace {

// Every other element, eight or sixteen at a time. Never reads past the last element: it is left to the
// caller's loop, with what does not fill a vector. Returns how many it copied.
__attribute__((target("avx2"))) std::int64_t copy_every_second(char* to, const char* from, std::int64_t count,
                                                               std::size_t width) {
  std::int64_t done = 0;
  const auto load = [&](std::int64_t offset) __attribute__((target("avx2"))) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + offset));
  };
  if (width == 4) {
    for (; done + 8 < count; done += 8) {
      const __m256 low = _mm256_castsi256_ps(load(8 * done)), high = _mm256_castsi256_ps(load(8 * done + 32));
      const __m256i picked = _mm256_castps_si256(_mm256_shuffle_ps(low, high, 0x88));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + 4 * done), _mm256_permute4x64_epi64(picked, 0xd8));
    }
  } else if (width == 2) {
    const __m256i even = _mm256_set1_epi32(0xffff);
    for (; done + 16 < count; done += 16) {
      const __m256i low = _mm256_and_si256(load(4 * done), even),
                    high = _mm256_and_si256(load(4 * done + 32), even);
      const __m256i picked = _mm256_packus_epi32(low, high);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + 2 * done), _mm256_permute4x64_epi64(picked, 0xd8));
    }
  }
  return done;
}

template <std::size_t Width>
void copy_row(char* to, std::int64_t to_step, const char* from, std::int64_t from_step, std::int64_t count) {
  if (to_step == Width && from_step == Width) {
    std::memcpy(to, from, static_cast<std::size_t>(count) * Width);
    return;
  }
  std::int64_t i = 0;
  if (to_step == Width && from_step == 2 * Width) i = copy_every_second(to, from, count, Width);
  for (; i < count; ++i) std::memcpy(to + i * to_step, from + i * from_step, Width);
}

// Squares of a cache line's worth of elements, so that each line of both sides is used up while it is in L1.
template <std::size_t Width>
void transpose(const Tile& to, const Tile& from, std::int64_t rows, std::int64_t columns) {
  constexpr std::int64_t kSide = 16;
  for (std::int64_t c = 0; c < columns; c += kSide) {
    const std::int64_t c_end = std::min(columns, c + kSide);
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t k = c; k < c_end; ++k)
        std::memcpy(to.data + r * to.row_step + k * to.column_step,
                    from.data + r * from.row_step + k * from.column_step, Width);
    }
  }
}

template <std::size_t Width>
void copy(const Tile& to, const Tile& from, std::int64_t rows, std::int64_t columns) {
  const bool across = std::abs(from.row_step) < std::abs(from.column_step) ||
                      std::abs(to.row_step) < std::abs(to.column_step);
  if (rows > 1 && across) return transpose<Width>(to, from, rows, columns);
  for (std::int64_t r = 0; r < rows; ++r) {
    copy_row<Width>(to.data + r * to.row_step, to.column_step, from.data + r * from.row_step,
                    from.column_step, columns);
  }
}

}  // namespace

void copy_tile(const Tile& to, const Tile& from, std::int64_t rows, std::int64_t columns,
               std::int64_t width) {
  switch (width) {
    case 1:
      return copy<1>(to, from, rows, columns);
    case 2:
      return copy<2>(to, from, rows, columns);
    case 4:
      return copy<4>(to, from, rows, columns);
    default:
      return copy<8>(to, from, rows, columns);
  }
}

}  // namespace pel::cpu
