#include "backends/cpu/elementwise/tile.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "backends/cpu/gemm/avx512_transpose.h"
#include "backends/cpu/isa.h"
#include "backends/cpu/lanes.h"

namespace pel::cpu {
namespace {

// Copies every other element, eight or sixteen at a time. Never reads past the last element: the caller's
// loop copies that one and the tail that does not fill a vector. Returns how many it copied.
PEL_LANES std::int64_t copy_every_second(char* to, const char* from, std::int64_t count, std::size_t width) {
  using I16x16 = Lanes<std::int16_t, 16>;
  std::int64_t done = 0;
  if (width == 4) {
    for (; done + 8 < count; done += 8)
      store(to + 4 * done, even_lanes(load<I32x8>(from + 8 * done), load<I32x8>(from + 8 * done + 32)));
  } else if (width == 2) {
    for (; done + 16 < count; done += 16)
      store(to + 2 * done, even_lanes(load<I16x16>(from + 4 * done), load<I16x16>(from + 4 * done + 32)));
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
PEL_LANES void transpose_square(char* to, std::int64_t to_step, const char* from, std::int64_t from_step) {
  for (int half = 0; half < 2; ++half) {
    F32x8 x[4];  // four elements of one column, next to those of the fourth column after it
    for (int i = 0; i < 4; ++i) {
      const auto low = load<F32x4>(from + i * from_step + 16 * half),
                 high = load<F32x4>(from + (i + 4) * from_step + 16 * half);
      x[i] = __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7);
    }
    const F32x8 a = __builtin_shufflevector(x[0], x[1], 0, 8, 1, 9, 4, 12, 5, 13),
                b = __builtin_shufflevector(x[0], x[1], 2, 10, 3, 11, 6, 14, 7, 15),
                c = __builtin_shufflevector(x[2], x[3], 0, 8, 1, 9, 4, 12, 5, 13),
                d = __builtin_shufflevector(x[2], x[3], 2, 10, 3, 11, 6, 14, 7, 15);
    char* const row = to + 4 * half * to_step;
    store(row, __builtin_shufflevector(a, c, 0, 1, 8, 9, 4, 5, 12, 13));
    store(row + to_step, __builtin_shufflevector(a, c, 2, 3, 10, 11, 6, 7, 14, 15));
    store(row + 2 * to_step, __builtin_shufflevector(b, d, 0, 1, 8, 9, 4, 5, 12, 13));
    store(row + 3 * to_step, __builtin_shufflevector(b, d, 2, 3, 10, 11, 6, 7, 14, 15));
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
