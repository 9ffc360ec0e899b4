#include "backends/cpu/elementwise/tile.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include <immintrin.h>

#include "backends/cpu/gemm/avx512_transpose.h"
#include "backends/cpu/isa.h"

namespace pel::cpu {
namespace {

// Copies every other element, eight or sixteen at a time. Never reads past the last element: the caller's
// loop copies that one and the tail that does not fill a vector. Returns how many it copied.
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

// Transposes eight by eight 4-byte elements.
__attribute__((target("avx2"))) void transpose_square(char* to, std::int64_t to_step, const char* from,
                                                      std::int64_t from_step) {
  __m256 pair[8];
  for (int half = 0; half < 2; ++half) {
    for (int i = 0; i < 4; ++i) {
      const auto* low = reinterpret_cast<const float*>(from + i * from_step) + 4 * half;
      const auto* high = reinterpret_cast<const float*>(from + (i + 4) * from_step) + 4 * half;
      pair[4 * half + i] =
          _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(low)), _mm_loadu_ps(high), 1);
    }
  }
  for (int half = 0; half < 2; ++half) {
    const __m256* x = pair + 4 * half;
    const __m256 a = _mm256_unpacklo_ps(x[0], x[1]), b = _mm256_unpackhi_ps(x[0], x[1]),
                 c = _mm256_unpacklo_ps(x[2], x[3]), d = _mm256_unpackhi_ps(x[2], x[3]);
    const auto store = [&](int row, __m256 v) __attribute__((target("avx2"))) {
      _mm256_storeu_ps(reinterpret_cast<float*>(to + (4 * half + row) * to_step), v);
    };
    store(0, _mm256_shuffle_ps(a, c, 0x44));
    store(1, _mm256_shuffle_ps(a, c, 0xee));
    store(2, _mm256_shuffle_ps(b, d, 0x44));
    store(3, _mm256_shuffle_ps(b, d, 0xee));
  }
}

// Copies elements that are dense along rows on one side and along columns on the other. Returns whether it
// could.
bool transpose_squares(const Tile& to, const Tile& from, std::int64_t rows, std::int64_t columns) {
  constexpr std::int64_t kWidth = 4;
  if (to.row_step == kWidth && from.column_step == kWidth && to.column_step != kWidth)
    return transpose_squares({to.data, to.column_step, to.row_step},
                             {from.data, from.column_step, from.row_step}, columns, rows);
  if (to.column_step != kWidth || from.row_step != kWidth) return false;
  const bool is_wide = rows >= 16 && columns >= 16 && active_isa() == codegen::Isa::Avx512;
  const std::int64_t side = is_wide ? 16 : 8;
  const std::int64_t whole_rows = rows / side * side, whole_columns = columns / side * side;
  // Follows the runs of `from`: its columns may be so far apart that few of them stay in L1.
  for (std::int64_t c = 0; c < whole_columns; c += side) {
    for (std::int64_t r = 0; r < whole_rows; r += side) {
      char* const target = to.data + r * to.row_step + c * kWidth;
      const char* const source = from.data + r * kWidth + c * from.column_step;
      (is_wide ? transpose_wide_square : transpose_square)(target, to.row_step, source, from.column_step);
    }
  }
  if (is_wide) {  // the remainder is narrow
    if (whole_columns < columns)
      transpose_squares({to.data + whole_columns * kWidth, to.row_step, kWidth},
                        {from.data + whole_columns * from.column_step, kWidth, from.column_step}, whole_rows,
                        columns - whole_columns);
    if (whole_rows < rows)
      transpose_squares({to.data + whole_rows * to.row_step, to.row_step, kWidth},
                        {from.data + whole_rows * kWidth, kWidth, from.column_step}, rows - whole_rows,
                        columns);
    return true;
  }
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = r < whole_rows ? whole_columns : 0; c < columns; ++c)
      std::memcpy(to.data + r * to.row_step + c * kWidth, from.data + r * kWidth + c * from.column_step,
                  kWidth);
  }
  return true;
}

// The same for 2-byte elements, with AVX-512. Returns whether it could.
bool transpose_halves(const Tile& to, const Tile& from, std::int64_t rows, std::int64_t columns) {
  constexpr std::int64_t kWidth = 2, kSide = 32;
  if (to.row_step == kWidth && from.column_step == kWidth && to.column_step != kWidth)
    return transpose_halves({to.data, to.column_step, to.row_step},
                            {from.data, from.column_step, from.row_step}, columns, rows);
  if (to.column_step != kWidth || from.row_step != kWidth || active_isa() != codegen::Isa::Avx512)
    return false;
  alignas(64) char lines[kSide][kSide * kWidth];
  for (std::int64_t c = 0; c < columns; c += kSide) {
    const std::int64_t in_line = std::min(kSide, columns - c);
    for (std::int64_t r = 0; r < rows; r += kSide) {
      const std::int64_t count = std::min(kSide, rows - r);
      transpose_to_lines(lines[0], kSide, from.data + r * kWidth + c * from.column_step, from.column_step,
                         count, in_line);
      for (std::int64_t i = 0; i < count; ++i)
        std::memcpy(to.data + (r + i) * to.row_step + c * kWidth, lines[i],
                    static_cast<std::size_t>(in_line * kWidth));
    }
  }
  return true;
}

// Copies squares of one cache line, so that each line of both sides is fully used while it is in L1.
template <std::size_t Width>
void transpose(const Tile& to, const Tile& from, std::int64_t rows, std::int64_t columns) {
  if (Width == 4 && transpose_squares(to, from, rows, columns)) return;
  if (Width == 2 && transpose_halves(to, from, rows, columns)) return;
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
