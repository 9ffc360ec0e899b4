// Tiles: the GEMM micro-kernels, over panels that fit registers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pellucid/dtype.h"

#include "codegen/isa.h"

namespace pel::codegen {

// The arguments of a tile. Strides and steps are in bytes.
struct PelTileCall {
  const void* a;  // rows whose elements along k are dense
  std::int64_t a_row;
  const void* b;  // for each k, the tile's columns
  std::int64_t b_step;
  std::int64_t depth;  // length of the K loop; for pairs and AMX a multiple of kPairDepth
  const void* chain;   // initial accumulators, or null for zeros
  const void* added;   // added to the sums at the end, or null; not for pairs and AMX
  void* out;           // may be `chain` or `added`
  std::int64_t row;    // row stride of chain, added and out
  // AMX: distance between blocks of kPairDepth, and between the first sixteen rows or columns and the second.
  std::int64_t a_step, a_tile, b_tile;
  // Transposing tiles: b_step is the distance between columns. `next` is read after this call, and prefetched
  // meanwhile. `panel`, if not null, receives the packed columns; panel_step is the distance between two k.
  const void* next;
  void* panel;
  std::int64_t panel_step;
  // Tiles over several panels: distance between the panels of b.
  std::int64_t b_panel;
};
extern "C" typedef void PelTileFn(const PelTileCall* call);

// The order in which the products of one element are added.
//   Chain  one fused multiply-add after the other.
//   Pairs  the order of AMX, with fused multiply-adds of f32. In each block of kPairDepth, the products at
//   even
//          and at odd k form one chain each; the sum of both is added to the element.
//   Amx    TDPBF16PS itself.
enum class TileOrder : std::uint8_t { Chain, Pairs, Amx };
inline constexpr std::int64_t kPairDepth = 32;
inline constexpr int kAmxSide = 16;  // rows and columns of an AMX register of f32

struct TileKernel {
  std::string name;
  TileOrder order;
  DType type;   // of the sums; elements of a and b have it too, except for AMX, where they are bf16
  int rows;     // for AMX in units of kAmxSide
  int columns;  // in vectors; for AMX in units of kAmxSide
  // b is dense along k, and is transposed in registers when it is loaded. depth is a multiple of the vector
  // length. Supports one vector of columns: chains of 4-byte elements, or pairs, where b is bf16 and depth a
  // multiple of kPairDepth.
  bool transposes = false;
  // Panels of b next to each other that one call reads side by side, each of `columns` vectors. Memory is
  // read faster as several streams than as one. Chains and AMX only; AMX has 3 with one row at most.
  int panels = 1;
};

}  // namespace pel::codegen
