// Tiles: the innermost loops of products of matrices, over panels that fit registers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pellucid/dtype.h"

#include "codegen/isa.h"

namespace pel::codegen {

// What a tile is called with. Strides and steps are in bytes.
struct PelTileCall {
  const void* a;  // rows whose elements along k are dense
  std::int64_t a_row;
  const void* b;  // for each k, the columns of the tile
  std::int64_t b_step;
  std::int64_t depth;  // of k; for pairs and AMX a multiple of kPairDepth
  const void* chain;   // where the sums begin, or null for zeros
  const void* added;   // what the sums are added to in the end, or null; not for pairs and AMX
  void* out;           // may be `chain` or `added`
  std::int64_t row;    // of chain, added and out
  // AMX: from one block of kPairDepth to the next, and from the first sixteen rows or columns to the second.
  std::int64_t a_step, a_tile, b_tile;
  // Turning tiles: b_step is from one column to the next. `next` is read after this call, and fetched
  // meanwhile; `panel`, where given, receives the columns side by side, panel_step from one k to the next.
  const void* next;
  void* panel;
  std::int64_t panel_step;
};
extern "C" typedef void PelTileFn(const PelTileCall* call);

// In what order the products of one element are added.
//   Chain  one fused multiply-add after the other.
//   Pairs  the order of AMX, by fused multiply-adds of f32: in each block of kPairDepth, the products at even
//          and at odd k make a chain each; their sum is added to the element.
//   Amx    TDPBF16PS itself.
enum class TileOrder : std::uint8_t { Chain, Pairs, Amx };
inline constexpr std::int64_t kPairDepth = 32;
inline constexpr int kAmxSide = 16;  // rows and columns of an AMX register of f32

struct TileKernel {
  std::string name;
  TileOrder order;
  DType type;   // of the sums; elements of a and b have it too, but for AMX, where they are bf16
  int rows;     // for AMX in units of kAmxSide
  int columns;  // in vectors; for AMX in units of kAmxSide
  // b is dense along k, and turned in registers on its way in: depth is a multiple of a vector's elements.
  // For one vector of columns, of chains of four bytes, or of pairs: then b is bf16, and depth a multiple of
  // kPairDepth.
  bool turns = false;
};

}  // namespace pel::codegen
