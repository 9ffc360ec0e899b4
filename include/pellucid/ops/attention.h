// Attention. Names and semantics are PyTorch's, except for `window`. Scores are computed tile by tile and
// never all stored: memory is linear in the length of the sequence.
#pragma once

#include <cstdint>
#include <optional>

#include "pellucid/tensor.h"

namespace pel {

enum class Causal : bool { No, Yes };        // query i sees keys 0 to i
enum class GroupedHeads : bool { No, Yes };  // key and value may have fewer heads, each for several of query

struct AttentionOptions {
  Causal causal = Causal::No;
  std::optional<double> scale;  // of the scores; 1 / sqrt(width) by default
  GroupedHeads grouped = GroupedHeads::No;
  // A query sees the last `window` keys up to its own position. That is its index if attention is causal;
  // else the last query is at the position of the last key.
  std::optional<std::int64_t> window;
};

// softmax(query key^T scale + mask) value, over [..., queries, width], [..., keys, width] and [..., keys,
// values]. The mask broadcasts to [..., queries, keys]: false hides a key, a number is added. The
// result of a query that sees no key is 0. The bits of a row of the result do not depend on other rows, nor
// on keys that it does not see.
PEL_API Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                            const std::optional<Tensor>& attn_mask = std::nullopt,
                                            const AttentionOptions& options = {},
                                            Site site = Site::current());

// Rotary embedding: pairs of columns (x, y) become (x cos - y sin, y cos + x sin). Column i is paired with
// column i + width / 2 or, interleaved, with its neighbor. cos and sin broadcast to [..., rows, width / 2].
enum class Interleaved : bool { No, Yes };
PEL_API Tensor rotary_embedding(const Tensor& self, const Tensor& cos, const Tensor& sin,
                                Interleaved interleaved = Interleaved::No, Site site = Site::current());

}  // namespace pel
