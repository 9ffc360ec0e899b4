// GEMM tiles as text: an item computes `rows` by `vectors` vectors of the result, in the order of
// docs/decisions/0013: chains of fused multiply-adds over 1024 of k, added one after the other; or, for bf16,
// pairs of chains over 32 of k with denormals flushed, which is the order of AMX. Sums go through `finish`.
//   m, n, k, batch, scales, matrix[operands][3]: steps from one batch, row and column to the next,
//   number[]: bits of the params
// Operands: outputs, the left factor, `sums` right ones, inputs. `scales`: 0 if the sums are stored as they
// are, for one output.
#pragma once

#include <string>
#include <vector>

#include "codegen/c_like/dialect.h"
#include "ir/scalar.h"

namespace pel::codegen {

enum class TileTextOrder : std::uint8_t { Chain, Pairs };
struct TileText {
  std::string name;
  DType sum{};  // f32 or f64: of the sums and of the factors
  TileTextOrder order = TileTextOrder::Chain;
  int lanes = 1;  // of a vector; with more than one the columns of right factors are dense
  int rows = 1, vectors = 1;
  int sums = 1;  // matmuls of one left factor
  std::vector<DType> outputs, inputs;
  bool are_columns_dense = false;              // of outputs and inputs; inputs may repeat
  const scalar::ScalarExpr* finish = nullptr;  // over [sums, inputs]; result i is stored to output i
};
std::string tile_text(const Dialect& dialect, const TileText& tile);

}  // namespace pel::codegen
