// Attention. Names and semantics are PyTorch's, but for `window`. Scores are computed tile by tile and never
// all kept: memory grows with the sequence, not with its square.
#pragma once

#include <cstdint>
#include <optional>
#include <tuple>

#include "pellucid/tensor.h"

namespace pel {

enum class Causal : bool { No, Yes };        // query i sees keys 0 to i
enum class GroupedHeads : bool { No, Yes };  // key and value may have fewer heads, each for several of query

struct AttentionOptions {
  Causal causal = Causal::No;
  std::optional<double> scale;  // of the scores; 1 / sqrt(width) where there is none
  GroupedHeads grouped = GroupedHeads::No;
  // A query sees the last `window` keys up to its own place. Its place is its number where attention is
  // causal; else the last query stands at the last key.
  std::optional<std::int64_t> window;
};

// softmax(query key^T scale + mask) value, over [..., queries, width], [..., keys, width] and [..., keys,
// values]. The mask broadcasts to [..., queries, keys]: false hides a key, a number is added. A query that
// sees no key gives zeros. A row of the result has the same bits whatever other rows, and keys that it does
// not see, are there.
PEL_API Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                            const std::optional<Tensor>& attn_mask = std::nullopt,
                                            const AttentionOptions& options = {},
                                            Site site = Site::current());

// The same for [batch, heads, rows, columns], with log(sum(e^score)) of each query, which a gradient needs;
// in f32 for f16 and bf16. The heads of query are a multiple of those of key and value.
PEL_API std::tuple<Tensor, Tensor> attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                             const std::optional<Tensor>& attn_mask = std::nullopt,
                                             Causal causal = Causal::No,
                                             std::optional<double> scale = std::nullopt,
                                             std::optional<std::int64_t> window = std::nullopt,
                                             Site site = Site::current());

// What flows back through attention to query, key, value and an attn_mask that is added: those for which
// output_mask has no 0. Scores are computed again, for some rows of queries at a time.
PEL_API std::tuple<Tensor, Tensor, Tensor, Tensor> attention_backward(
    const Tensor& grad, const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& result,
    const Tensor& logsumexp, const std::optional<Tensor>& attn_mask = std::nullopt,
    Causal causal = Causal::No, std::optional<double> scale = std::nullopt,
    std::optional<std::int64_t> window = std::nullopt,
    const std::optional<Tensor>& grad_logsumexp = std::nullopt, Axes output_mask = {1, 1, 1, 0},
    Site site = Site::current());

// self cos + sign other sin, element by element: one coordinate of a point that turns.
PEL_API Tensor rotate_pair(const Tensor& self, const Tensor& other, const Tensor& cos, const Tensor& sin,
                           const Scalar& sign = 1, Site site = Site::current());
PEL_API const Tensor& rotate_pair_out(const Tensor& out, const Tensor& self, const Tensor& other,
                                      const Tensor& cos, const Tensor& sin, const Scalar& sign = 1,
                                      Site site = Site::current());

// Rotary embedding: pairs of columns (x, y) become (x cos - y sin, y cos + x sin). Column i goes with column
// i + width / 2, or, interleaved, with its neighbour. cos and sin broadcast to [..., rows, width / 2].
enum class Interleaved : bool { No, Yes };
PEL_API Tensor rotary_embedding(const Tensor& self, const Tensor& cos, const Tensor& sin,
                                Interleaved interleaved = Interleaved::No, Site site = Site::current());

}  // namespace pel
