// The GEMM tiles that are prebuilt, and which of them serve a dtype.
#pragma once

#include <algorithm>
#include <iterator>
#include <string_view>
#include <vector>

#include "pellucid/dtype.h"

#include "codegen/tile.h"

namespace pel::cpu {

std::vector<codegen::TileKernel> tile_set(codegen::Isa isa);

// The tiles of one order and type.
struct TileFamily {
  codegen::TileOrder order;
  DType type;                 // of the sums, and of packed elements except for AMX
  int rows;                   // of the largest tile
  int columns;                // of a panel
  int unit;                   // the last panel has a multiple of this many columns
  std::int64_t element_size;  // bytes, in panels
  codegen::PelTileFn* tiles[3][33];
  codegen::PelTileFn*
      transposing[9];  // `unit` columns that are dense along k, by rows; null if there are none
  // Tiles of few rows over several panels, by rows.
  struct Wide {
    codegen::PelTileFn* tile = nullptr;  // null: there is none
    int panels = 1;
  };
  Wide wide[17];

  // The dtype that transposing tiles read, and the multiple of k that they need.
  DType transposing_type() const { return order == codegen::TileOrder::Pairs ? kBF16 : type; }
  std::int64_t transposing_unit() const {
    return order == codegen::TileOrder::Pairs ? codegen::kPairDepth : unit;
  }
  bool is_amx() const { return order == codegen::TileOrder::Amx; }
  // Depth is padded to a multiple of this.
  std::int64_t depth_unit() const { return order == codegen::TileOrder::Chain ? 1 : codegen::kPairDepth; }
  std::int64_t padded(std::int64_t depth) const {
    return (depth + depth_unit() - 1) / depth_unit() * depth_unit();
  }
  // Size of a panel, and distance between two k, or two blocks of k, in bytes.
  std::int64_t panel_bytes(std::int64_t depth) const { return padded(depth) * columns * element_size; }
  std::int64_t panel_step(int width) const { return width * element_size * (is_amx() ? depth_unit() : 1); }
  // Returns the columns of the panel that begins at `column`, out of `n`.
  int width_at(std::int64_t column, std::int64_t n) const {
    return static_cast<int>(std::min<std::int64_t>(columns, (n - column + unit - 1) / unit * unit));
  }
  codegen::PelTileFn* tile(std::int64_t height, int width) const { return tiles[width / unit - 1][height]; }
  Wide wide_tile(std::int64_t height) const {
    return height < static_cast<std::int64_t>(std::size(wide)) ? wide[height] : Wide();
  }
};

// Returns the tiles for this dtype on the active ISA. All orders of bf16 produce the same bits.
const TileFamily& tiles_for(DType dtype);
const TileFamily& tiles_for(DType dtype, codegen::Isa isa, bool with_amx);
// Returns "amx", or the name of the active ISA.
std::string_view isa_name(const TileFamily& family);

}  // namespace pel::cpu
