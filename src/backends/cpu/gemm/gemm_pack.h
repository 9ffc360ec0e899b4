// GEMM operands packed in the order in which tiles read them.
//
//   panels of b   `columns` columns each: for every k the columns, contiguous. For AMX, blocks of 32 k, each
//                 of one or two registers: sixteen pairs of k, and for each pair the columns, k next to k
//                 + 1.
//   rows of a     dense along k. For AMX, blocks of up to 32 rows: for every 32 k one or two registers of
//                 sixteen rows.
//
// Sizes that are not a multiple of a panel are padded with zeros.
#pragma once

#include "backends/cpu/gemm/gemm.h"
#include "backends/cpu/gemm/tile_set.h"

namespace pel::cpu {

inline constexpr std::int64_t kRegisterRow = 64, kRegister = 1024;  // bytes, of AMX

// Elements of `dtype`, with strides in elements.
struct PackSource {
  Matrix matrix;
  DType dtype;
  const char* at(std::int64_t row, std::int64_t column) const {
    return matrix.data + (row * matrix.row + column * matrix.column) * size_bytes(dtype);
  }
};

// The range of k, and the range of the other axis, to pack.
struct PackRange {
  std::int64_t first_k, depth, first, count;
};

// Packs panels of b, `panel_bytes` apart. The last may have fewer columns than family.columns (width_at).
void pack_panels(const TileFamily& family, const PackSource& b, const PackRange& range, char* panels,
                 std::int64_t panel_bytes);
// Returns whether tiles can transpose b in registers without packing.
bool can_transpose(const TileFamily& family, const PackSource& b);
// Returns whether tiles need packed rows of a, or packed panels of b.
bool needs_packing(const TileFamily& family, const PackSource& a);
void pack_rows(const TileFamily& family, const PackSource& a, const PackRange& range, char* rows);
// Returns the stride of packed rows, not for AMX: one line more than the row, because rows that fill pages
// would map to one set of L1.
std::int64_t packed_row_bytes(const TileFamily& family, std::int64_t depth);
std::int64_t packed_rows_bytes(const TileFamily& family, std::int64_t rows, std::int64_t depth);

}  // namespace pel::cpu
