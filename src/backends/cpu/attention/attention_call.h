// One call of attention: its operands and sizes, and what follows from them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "backends/cpu/attention/attention_loops.h"
#include "backends/cpu/elementwise/rounding.h"
#include "backends/cpu/gemm/gemm_pack.h"
#include "backends/cpu/gemm/gemm_tiles.h"
#include "backends/cpu/grains.h"
#include "backends/cpu/kernels.h"
#include "backends/cpu/rows/row_arguments.h"

namespace pel::cpu {

inline constexpr std::int64_t kTileKeys = 1024;  // keys of a tile
inline constexpr std::int64_t kMaxBlockRows = 64, kMinBlockRows = 16;

// [batch, head, row, column]; strides are in elements.
struct Heads {
  char* data = nullptr;
  DType dtype{};
  std::int64_t batch = 0, head = 0, row = 0, column = 0;

  Heads() = default;
  explicit Heads(const Operand& o)
      : data(static_cast<char*>(o.data)),
        dtype(static_cast<DType>(o.dtype)),
        batch(o.strides[0]),
        head(o.strides[1]),
        row(o.strides[2]),
        column(o.rank > 3 ? o.strides[3] : 0) {}
  char* at(std::int64_t b, std::int64_t h, std::int64_t r, std::int64_t c = 0) const {
    return data + (b * batch + h * head + r * row + c * column) * size_bytes(dtype);
  }
  PackSource matrix(std::int64_t b, std::int64_t h) const { return {{at(b, h, 0), 0, row, column}, dtype}; }
};

struct KeyRange {
  std::int64_t first, end;
};

// T is the type of scores and sums.
template <class T>
struct AttentionCall {
  static constexpr std::int64_t kSize = sizeof(T);

  explicit AttentionCall(const KernelArgs& args)
      : out(output(args, 0)),
        logsumexp(output(args, 1)),
        query(input(args, 0)),
        key(input(args, 1)),
        value(input(args, 2)),
        batch(input(args, 0).sizes[0]),
        heads(input(args, 0).sizes[1]),
        key_heads(input(args, 1).sizes[1]),
        queries(input(args, 0).sizes[2]),
        keys(input(args, 1).sizes[2]),
        width(input(args, 0).sizes[3]),
        value_width(input(args, 2).sizes[3]),
        scale(args.scalars[0].as_float),
        is_causal(args.scalars[1].as_int != 0),
        window(args.scalars[2].as_int),
        tiles(tiles_for(query.dtype)),
        code(attention_code(query.dtype)) {
    if (args.input_count > 3) mask = Heads(input(args, 3));
    // Heads that share their keys are processed together.
    if (key_heads == heads && heads > 1 && key.head == 0 && value.head == 0) key_heads = 1;
    group = heads / key_heads;
    rows = group * queries;
    depth = tiles.padded(width);
    query_row = depth * tiles.element_size + kLine;
    score_row = kTileKeys * kSize + kLine;
    weight_row = tiles.is_amx() ? kTileKeys * tiles.element_size + kLine : score_row;
    sum_row = round_up(value_width, tiles.columns) * kSize + kLine;
    key_panel = tiles.panel_bytes(width);
  }

  // Of the packed keys, and the packed values, of a tile.
  std::int64_t key_bytes() const { return panels_bytes(tiles, width, kTileKeys); }
  std::int64_t value_bytes() const { return panels_bytes(tiles, kTileKeys, value_width); }
  void pack_keys(std::int64_t b, std::int64_t h, std::int64_t first, std::int64_t count, char* to) const {
    const PackSource from = key.matrix(b, h);
    pack_panels(tiles, {from.matrix.transposed(), from.dtype}, {0, width, first, count}, to, key_panel);
  }
  void pack_values(std::int64_t b, std::int64_t h, std::int64_t first, std::int64_t count,
                   std::int64_t column, std::int64_t columns, char* to) const {
    pack_panels(tiles, value.matrix(b, h), {first, count, column, columns}, to, tiles.panel_bytes(count));
  }
  // Whether tiles for few rows read keys and values unpacked.
  bool reads_keys_unpacked() const {
    if (tiles.is_amx()) return key.column == 1 && width % codegen::kPairDepth == 0;
    const PackSource from = key.matrix(0, 0);
    return can_transpose(tiles, {from.matrix.transposed(), from.dtype}) &&
           width % tiles.transposing_unit() == 0;
  }
  bool reads_values_unpacked() const {
    return !needs_packing(tiles, value.matrix(0, 0)) && value_width % tiles.unit == 0;
  }

  // About the time of `count` products of width `columns` for each of some rows.
  double nanoseconds(std::int64_t some_rows, std::int64_t count, std::int64_t columns) const {
    return static_cast<double>(count * columns) *
           std::max(static_cast<double>(some_rows) / 50, static_cast<double>(tiles.element_size) / 20);
  }

  // Whether scores are scaled before the mask. An additive mask requires it. A bool mask does not, so that a
  // row has the same bits as without the hidden keys; but a scale of 0 times its infinity would be NaN.
  bool scales_first() const { return mask.data != nullptr && (mask.dtype != kBool || scale == 0); }
  double power_scale() const { return (scales_first() ? 1 : scale) * std::numbers::log2e; }

  // The keys that a query attends to.
  KeyRange seen_by(std::int64_t position) const {
    KeyRange seen{0, keys};
    if (is_causal) seen.end = std::min(keys, position + 1);
    if (window > 0) {
      const std::int64_t last = is_causal ? position : position + keys - queries;
      seen.end = std::clamp(last + 1, std::int64_t{0}, keys);
      seen.first = std::clamp(last - window + 1, std::int64_t{0}, seen.end);
    }
    return seen;
  }

  Heads out, logsumexp, query, key, value, mask;
  std::int64_t batch, heads, key_heads, queries, keys, width, value_width;
  double scale;
  bool is_causal;
  std::int64_t window;  // 0: none
  const TileFamily& tiles;
  const AttentionCode& code;
  std::int64_t group;                                                 // heads that share keys
  std::int64_t rows;                                                  // of these heads
  std::int64_t depth;                                                 // width, padded
  std::int64_t query_row, score_row, weight_row, sum_row, key_panel;  // bytes

 private:
  static constexpr std::int64_t kLine = 64;  // padding between rows, so that they do not map to one set of L1
};

}  // namespace pel::cpu
