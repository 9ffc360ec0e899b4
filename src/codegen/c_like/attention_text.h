// Attention as text, over tiles of 1024 keys: an item has some rows, which are queries of the heads that
// share keys. For each tile, in order: scores, one chain of products over the columns; the max so far;
// weights and their sum; and the weighted values, key after key, onto those so far, which are rescaled to the
// new max.
//   rows (of a head of keys), queries, keys, width, value_width, key_heads, is_causal, window, sum_row,
//   step[operands][4] of batch, head, row and column, number[]: bits of scale, factor and hidden
// Operands: results, logarithms, sums of weighted values so far, query, key, value, and the mask. Rows of
// these sums are dense, with `sum_row` elements, a multiple of the lanes.
#pragma once

#include <optional>
#include <string>

#include "codegen/c_like/dialect.h"
#include "ir/scalar.h"

namespace pel::codegen {

inline constexpr int kAttentionTileKeys = 1024;

struct AttentionText {
  std::string name;
  DType dtype{}, type{};      // of query, key and value; and of scores and sums
  std::optional<DType> mask;  // its dtype
  int lanes = 1;              // with more than one, columns of all operands but the query are dense
  int rows = 1;               // of an item
  // The identity of the max, or of the min where the scale is negative.
  std::uint64_t initial_bits = 0;
  // As dispatch/attention_formulas.h has them; `larger` combines two scores, `sum` two weights.
  scalar::ScalarExpr masked, larger, weights, sum, decay, finish, logsumexp;
};
std::string attention_text(const Dialect& dialect, const AttentionText& attention);

}  // namespace pel::codegen
