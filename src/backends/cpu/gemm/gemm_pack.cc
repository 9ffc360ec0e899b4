#include "backends/cpu/gemm/gemm_pack.h"

#include <algorithm>
#include <cstring>

#include "backends/cpu/elementwise/pointwise.h"
#include "backends/cpu/elementwise/tile.h"
#include "backends/cpu/gemm/avx512_transpose.h"
#include "backends/cpu/lanes.h"
#include "base/check.h"

namespace pel::cpu {
namespace {

using codegen::kAmxSide;
using codegen::kPairDepth;

constexpr std::int64_t kHalf = 2, kPair = 4;  // bytes of an element of bf16, and of two

// Converts a block of rows and columns to dense rows of another dtype, some elements at a time.
void convert_tile(const Tile& to, DType to_type, const Tile& from, DType from_type, std::int64_t rows,
                  std::int64_t columns) {
  const std::int64_t from_size = size_bytes(from_type), to_size = size_bytes(to_type);
  const LoopCode* const cast = cast_loop(from_type, to_type);
  if (cast == nullptr) return copy_tile(to, from, rows, columns, from_size);
  constexpr std::int64_t kChunk = 512;
  alignas(64) char strided[kChunk * 8], dense[kChunk * 8];
  const auto run = [&](char* out, const char* in, std::int64_t count) {
    void* data[2] = {out, const_cast<char*>(in)};
    constexpr std::int64_t kStrides[2] = {1, 1};
    cast->function(count, data, kStrides, nullptr);
  };
  const bool down = from.row_step == from_size && from.column_step != from_size;
  if (down && to.column_step == to_size) {
    // Columns are dense: a few of them are converted, then transposed.
    constexpr std::int64_t kSide = 16, kDepth = kChunk / kSide;
    for (std::int64_t r = 0; r < rows; r += kDepth) {
      const std::int64_t depth = std::min(kDepth, rows - r);
      for (std::int64_t c = 0; c < columns; c += kSide) {
        const std::int64_t side = std::min(kSide, columns - c);
        for (std::int64_t i = 0; i < side; ++i)
          run(dense + i * kDepth * to_size, from.data + r * from.row_step + (c + i) * from.column_step,
              depth);
        copy_tile({to.data + r * to.row_step + c * to.column_step, to.row_step, to.column_step},
                  {dense, to_size, kDepth * to_size}, depth, side, to_size);
      }
    }
    return;
  }
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; c += kChunk) {
      const std::int64_t count = std::min(kChunk, columns - c);
      char* in = from.data + r * from.row_step + c * from.column_step;
      if (from.column_step != from_size) {
        copy_tile({strided, 0, from_size}, {in, 0, from.column_step}, 1, count, from_size);
        in = strided;
      }
      run(to.data + r * to.row_step + c * to.column_step, in, count);
    }
  }
}

// Packs a register of sixteen pairs of k and sixteen columns; missing elements are zero.
void pack_pairs(char* to, const PackSource& b, std::int64_t k, std::int64_t depth, std::int64_t column,
                std::int64_t columns) {
  const std::int64_t k_step = b.matrix.row * kHalf, column_step = b.matrix.column * kHalf;
  char* const from = const_cast<char*>(b.at(k, column));
  if (depth >= kPairDepth && columns >= kAmxSide && k_step == kHalf)
    return copy_tile({to, kRegisterRow, kPair}, {from, kPair, column_step}, kPairDepth / 2, kAmxSide, kPair);
  std::memset(to, 0, kRegister);
  for (std::int64_t l = 0; l < std::min(depth, kPairDepth); ++l) {
    for (std::int64_t c = 0; c < std::min<std::int64_t>(columns, kAmxSide); ++c)
      std::memcpy(to + l / 2 * kRegisterRow + c * kPair + l % 2 * kHalf, from + l * k_step + c * column_step,
                  kHalf);
  }
}

// Packs a register of sixteen rows and 32 k.
void pack_register(char* to, const PackSource& a, std::int64_t row, std::int64_t rows, std::int64_t k,
                   std::int64_t depth) {
  if (rows < kAmxSide || depth < kPairDepth) std::memset(to, 0, kRegister);
  if (rows <= 0) return;
  const std::int64_t row_step = a.matrix.row * kHalf, k_step = a.matrix.column * kHalf;
  char* const from = const_cast<char*>(a.at(row, k));
  if (k_step == kHalf && depth >= kPairDepth) {
    for (std::int64_t r = 0; r < std::min<std::int64_t>(rows, kAmxSide); ++r)
      std::memcpy(to + r * kRegisterRow, from + r * row_step, kRegisterRow);
    return;
  }
  copy_tile({to, kRegisterRow, kHalf}, {from, row_step, k_step}, std::min<std::int64_t>(rows, kAmxSide),
            std::min(depth, kPairDepth), kHalf);
}

// Packs a panel of `columns`, of which `range.count` exist.
void pack_panel(const TileFamily& family, const PackSource& b, const PackRange& range, char* panel,
                int columns) {
  if (family.is_amx()) {
    for (std::int64_t k = 0; k < range.depth; k += kPairDepth) {
      for (int c = 0; c < columns; c += kAmxSide, panel += kRegister)
        pack_pairs(panel, b, range.first_k + k, range.depth - k, range.first + c, range.count - c);
    }
    return;
  }
  const std::int64_t size = family.element_size, row = columns * size;
  const std::int64_t end = family.padded(range.depth);
  if (range.count < columns) {
    std::memset(panel, 0, static_cast<std::size_t>(end * row));
  } else {
    std::memset(panel + range.depth * row, 0, static_cast<std::size_t>((end - range.depth) * row));
  }
  const std::int64_t from_size = size_bytes(b.dtype);
  convert_tile({panel, row, size}, family.type,
               {const_cast<char*>(b.at(range.first_k, range.first)), b.matrix.row * from_size,
                b.matrix.column * from_size},
               b.dtype, range.depth, range.count);
}

// Whether packing converts bf16 to f32, which is a shift: every instruction set gives the same bits.
bool widens(const TileFamily& family, const PackSource& b) {
  return family.type == kF32 && b.dtype == kBF16 && !family.is_amx();
}

// Packs full panels of a matrix with contiguous columns: row by row, because rows may be so far apart that
// few of them stay in L1. `range` begins at a multiple of 32.
PEL_LANES void pack_panels_by_rows(const TileFamily& family, const PackSource& b, const PackRange& range,
                                   char* panels, std::int64_t panel_bytes) {
  constexpr std::int64_t kAhead = 8;  // rows
  const auto fetch = [&](std::int64_t k) {
    for (std::int64_t line = 0; line < range.count * size_bytes(b.dtype); line += 64)
      __builtin_prefetch(b.at(k, range.first) + line);
  };
  const std::int64_t width = family.columns;
  if (!family.is_amx()) {
    const bool is_wider = widens(family, b);
    const std::int64_t row = width * family.element_size, from_row = width * size_bytes(b.dtype);
    PEL_ASSERT(!is_wider || width % 8 == 0, "panels are vectors of f32");
    for (std::int64_t k = 0; k < range.depth; ++k) {
      fetch(range.first_k + k + kAhead);
      const char* from = b.at(range.first_k + k, range.first);
      char* to = panels + k * row;  // in the panel of each c
      for (std::int64_t c = 0; c < range.count; c += width, from += from_row, to += panel_bytes) {
        if (is_wider) {
          for (std::int64_t i = 0; i < row; i += 32) {
            const auto halves = load<Lanes<std::uint16_t, 8>>(from + i / 2);
            store(to + i, __builtin_convertvector(halves, I32x8) << 16);
          }
        } else {
          for (std::int64_t i = 0; i < row; i += 32) store(to + i, load<I32x8>(from + i));
        }
      }
    }
    const std::int64_t padding = family.padded(range.depth) - range.depth;
    char* end = panels + range.depth * row;
    for (std::int64_t c = 0; padding > 0 && c < range.count; c += width, end += panel_bytes)
      std::memset(end, 0, static_cast<std::size_t>(padding * row));
    return;
  }
  const std::int64_t whole = range.depth / kPairDepth * kPairDepth;
  for (std::int64_t k = 0; k < whole; k += 2) {
    fetch(range.first_k + k + kAhead);
    fetch(range.first_k + k + kAhead + 1);
    const char *even = b.at(range.first_k + k, range.first), *odd = b.at(range.first_k + k + 1, range.first);
    pair_columns(panels + k / kPairDepth * 2 * kRegister + k % kPairDepth / 2 * kRegisterRow, panel_bytes,
                 even, odd, range.count);
  }
  for (std::int64_t c = 0; whole < range.depth && c < range.count; c += width)
    pack_panel(family, b, {range.first_k + whole, range.depth - whole, range.first + c, width},
               panels + c / width * panel_bytes + whole * width * kHalf, family.columns);
}

// AMX: packs a matrix with contiguous rows, as many k at once as a row of a register holds.
void pack_rows_by_k(const TileFamily& family, const PackSource& a, const PackRange& range, char* rows) {
  const std::int64_t k_step = a.matrix.column * kHalf, block_bytes = family.padded(range.depth) * kHalf;
  for (std::int64_t k = 0; k < range.depth; k += kPairDepth) {
    for (std::int64_t r = 0; r < range.count; r += family.rows) {
      const std::int64_t left = range.count - r;
      const int lines = left > kAmxSide ? 2 * kAmxSide : kAmxSide;
      const char* const from = a.at(range.first + r, range.first_k + k);
      for (std::int64_t l = kPairDepth; l < 2 * kPairDepth; ++l) __builtin_prefetch(from + l * k_step, 0, 2);
      transpose_to_lines(rows + r * block_bytes + k * lines * kHalf, lines, from, k_step, left,
                         range.depth - k);
    }
  }
}

}  // namespace

void pack_panels(const TileFamily& family, const PackSource& b, const PackRange& range, char* panels,
                 std::int64_t panel_bytes) {
  const bool by_rows =
      b.matrix.column == 1 && (family.is_amx() || widens(family, b) ||
                               (family.order == codegen::TileOrder::Chain && b.dtype == family.type));
  const std::int64_t whole = by_rows ? range.count / family.columns * family.columns : 0;
  if (whole > 0)
    pack_panels_by_rows(family, b, {range.first_k, range.depth, range.first, whole}, panels, panel_bytes);
  for (std::int64_t c = whole; c < range.count; c += family.columns)
    pack_panel(family, b,
               {range.first_k, range.depth, range.first + c,
                std::min<std::int64_t>(family.columns, range.count - c)},
               panels + c / family.columns * panel_bytes, family.width_at(c, range.count));
}

bool can_transpose(const TileFamily& family, const PackSource& b) {
  return family.transposing[1] != nullptr && b.dtype == family.transposing_type() && b.matrix.row == 1;
}

bool needs_packing(const TileFamily& family, const PackSource& a) {
  return family.order != codegen::TileOrder::Chain || a.dtype != family.type || a.matrix.column != 1;
}

std::int64_t packed_row_bytes(const TileFamily& family, std::int64_t depth) {
  constexpr std::int64_t kLine = 64;
  return family.padded(depth) * family.element_size + kLine;
}

std::int64_t packed_rows_bytes(const TileFamily& family, std::int64_t rows, std::int64_t depth) {
  if (!family.is_amx()) return rows * packed_row_bytes(family, depth);
  return (rows + family.rows - 1) / family.rows * family.rows * family.padded(depth) * family.element_size;
}

void pack_rows(const TileFamily& family, const PackSource& a, const PackRange& range, char* rows) {
  if (family.is_amx() && a.matrix.row == 1 && a.matrix.column != 1)
    return pack_rows_by_k(family, a, range, rows);
  if (family.is_amx()) {
    for (std::int64_t r = 0; r < range.count; r += family.rows) {
      const std::int64_t left = range.count - r, height = left > kAmxSide ? 2 : 1;
      char* to = rows + r * family.padded(range.depth) * kHalf;
      std::int64_t k = 0;
      if (a.matrix.column == 1 && left >= height * kAmxSide) {
        // Some lines of each row at once: the hardware cannot prefetch as many streams as there are rows.
        constexpr std::int64_t kLines = 8;
        for (; k + kLines * kPairDepth <= range.depth;
             k += kLines * kPairDepth, to += kLines * height * kRegister) {
          for (std::int64_t row = 0; row < height * kAmxSide; ++row) {
            const char* const from = a.at(range.first + r + row, range.first_k + k);
            for (std::int64_t line = 0; line < kLines; ++line)
              std::memcpy(to + line * height * kRegister + row * kRegisterRow, from + line * kRegisterRow,
                          kRegisterRow);
          }
        }
      }
      for (; k < range.depth; k += kPairDepth) {
        for (std::int64_t h = 0; h < height; ++h, to += kRegister)
          pack_register(to, a, range.first + r + h * kAmxSide, left - h * kAmxSide, range.first_k + k,
                        range.depth - k);
      }
    }
    return;
  }
  const std::int64_t from_size = size_bytes(a.dtype), size = family.element_size,
                     row = packed_row_bytes(family, range.depth), depth = family.padded(range.depth);
  if (depth > range.depth) {
    for (std::int64_t r = 0; r < range.count; ++r)
      std::memset(rows + r * row + range.depth * size, 0,
                  static_cast<std::size_t>((depth - range.depth) * size));
  }
  convert_tile({rows, row, size}, family.type,
               {const_cast<char*>(a.at(range.first, range.first_k)), a.matrix.row * from_size,
                a.matrix.column * from_size},
               a.dtype, range.count, range.depth);
}

}  // namespace pel::cpu
