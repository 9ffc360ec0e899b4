// GEMM tiles as text: an item computes `rows` by `vectors` vectors of the result, in the order of
// docs/decisions/0013: chains of fused multiply-adds over 1024 of k, added one after the other; or, for bf16,
// pairs of chains over 32 of k with denormals flushed, which is the order of AMX. Sums go through `finish`.
//   m, n, k, batch, scales, matrix[operands][3]: steps from one batch, row and column to the next,
//   number[]: bits of the params
// Operands: outputs, the left factor, `sums` right ones, inputs. `scales`: 0 if the sums are stored as they
// are, for one output.
//
// With vectors, right factors are read as their layout allows; of panels, the step of a row is that of a
// panel.
#pragma once

#include <string>
#include <vector>

#include "codegen/c_like/dialect.h"
#include "ir/scalar.h"

namespace pel::codegen {

enum class TileTextOrder : std::uint8_t { Chain, Pairs };
// How a right factor is read: along its rows, which are dense; 16 columns at a time, which are dense, and
// transposed in registers; or packed, in panels of as many columns as a tile has. Any: element by element.
enum class RightLayout : std::uint8_t { Rows, Columns, Panels, Any };
struct TileText {
  std::string name;
  DType sum{};  // f32 or f64: of the sums and of the factors
  TileTextOrder order = TileTextOrder::Chain;
  int lanes = 1;                         // of a vector
  RightLayout right = RightLayout::Any;  // of all right factors; Any with one lane, and only then
  DType stored_right{};                  // their dtype in memory
  int rows = 1, vectors = 1;
  int sums = 1;  // matmuls of one left factor
  std::vector<DType> outputs, inputs;
  bool are_columns_dense = false;              // of outputs and inputs; inputs may repeat
  const scalar::ScalarExpr* finish = nullptr;  // over [sums, inputs]; result i is stored to output i
};
std::string tile_text(const Dialect& dialect, const TileText& tile);

// Packs a right factor for tiles with vectors: an item converts kPackDepth of k, for all columns of a panel.
// The last panel is whole; what its columns beyond n contain is not read for any result.
//   n, k, panels (of a batch), step of a batch, of k and of a column
// Operands: the panels, the factor.
inline constexpr int kPackDepth = 64;
struct PackText {
  std::string name;
  DType stored{}, packed{};  // in memory, and as f32 or f64
  RightLayout layout{};      // of the factor: not Panels
  int vectors = 1;           // of a panel
};
std::string pack_text(const Dialect& dialect, const PackText& pack);

}  // namespace pel::codegen
