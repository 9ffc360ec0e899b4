// Rows of attention that are processed together, tile of keys by tile of keys.
#pragma once

#include <array>
#include <cstring>
#include <initializer_list>
#include <limits>

#include "backends/cpu/attention/attention_call.h"
#include "backends/cpu/elementwise/pointwise.h"
#include "backends/cpu/elementwise/tile.h"
#include "backends/cpu/gemm/tile_mode.h"
#include "backends/cpu/scratch.h"
#include "base/thread_object.h"

namespace pel::cpu {

struct AttentionScratch {
  Scratch queries, keys, values, scores, weights, transposed, sums, line, parts;
  static AttentionScratch& of_thread() { return thread_object<AttentionScratch>(); }
};

// A row is a query of one of the heads that share keys. For a tile of keys, in order: score, find_max,
// join_max, weigh, join_sums, rescale and add_values; after the last tile, finish. Steps of one block may run
// on several threads: scores of any keys, weights of any tiles and values of any columns, but no row's tiles
// out of order.
template <class T>
class AttentionBlock {
 public:
  static constexpr std::int64_t kMaxTileRows = 32;

  // Keys of one tile, or a part of them.
  struct Tile {
    std::int64_t first = 0, count = 0;
    std::int64_t depth = 0;     // keys that the current rows need
    std::int64_t unpacked = 0;  // keys that are read unpacked
    std::int64_t packed_count = 0;
    const char *keys = nullptr, *values = nullptr;  // packed; values are read unpacked if null
    char *scores = nullptr, *weights = nullptr;     // of the current rows
  };
  // What a tile changes for its rows: their max before and now, and 2^(before - now).
  struct Change {
    T before[kMaxTileRows], now[kMaxTileRows], decay[kMaxTileRows];
  };

  static std::int64_t queries_bytes(const AttentionCall<T>& call, std::int64_t rows) {
    return round_up(rows, call.tiles.rows) * call.query_row;
  }
  static std::int64_t sums_bytes(const AttentionCall<T>& call, std::int64_t rows) {
    return round_up(rows, call.tiles.rows) * call.sum_row;
  }

  // Rows [first, first + rows) of a head of keys. `queries` and `sums` are memory of the sizes above.
  AttentionBlock(const AttentionCall<T>& call, std::int64_t b, std::int64_t key_head, std::int64_t first,
                 std::int64_t rows, char* queries, char* sums)
      : a_(call),
        f_(call.tiles),
        batch_(b),
        key_head_(key_head),
        rows_(rows),
        queries_(queries),
        sums_(sums) {
    for (std::int64_t r = 0; r < rows; ++r) {
      const bool is_next = r > 0 && query_[r - 1] + 1 < a_.queries;
      head_[r] = is_next ? head_[r - 1] : key_head * a_.group + (first + r) / a_.queries;
      query_[r] = is_next ? query_[r - 1] + 1 : (first + r) % a_.queries;
      seen_[r] = a_.seen_by(query_[r]);
      max_[r] = -std::numeric_limits<T>::infinity();
      sum_[r] = 0;
    }
    pack_queries();
    std::memset(sums_, 0, static_cast<std::size_t>(sums_bytes(a_, rows)));
  }

  // All of them on this thread. `panels` holds the packed panels of all tiles, or is null.
  void run(const TileMode& mode, const char* panels) {
    AttentionScratch& scratch = AttentionScratch::of_thread();
    const std::int64_t key_bytes = a_.key_bytes(), tile_bytes = key_bytes + a_.value_bytes();
    Tile t;
    t.scores = scratch.scores.take(f_.rows * a_.score_row);
    t.weights = f_.is_amx() ? scratch.weights.take(f_.rows * a_.weight_row) : t.scores;
    const KeyRange all = seen_by_rows(0, rows_);
    for (std::int64_t r = 0; r < rows_; r += f_.rows)
      seen_by_group_[r / f_.rows] = seen_by_rows(r, std::min<std::int64_t>(r + f_.rows, rows_));
    for (std::int64_t tile = all.first / kTileKeys; tile * kTileKeys < all.end; ++tile) {
      t.first = tile * kTileKeys;
      t.count = std::min(kTileKeys, all.end - t.first);
      if (panels != nullptr) {
        t.packed_count = std::min(kTileKeys, a_.keys - t.first);
        t.keys = panels + tile * tile_bytes;
        t.values = t.keys + key_bytes;
      } else {
        prepare_keys(t);
        prepare_values(t, 0, a_.value_width);
      }
      for (std::int64_t r = 0; r < rows_; r += f_.rows) {
        const std::int64_t height = std::min<std::int64_t>(f_.rows, rows_ - r);
        const KeyRange& seen = seen_by_group_[r / f_.rows];
        if (seen.first >= t.first + t.count || seen.end <= t.first) continue;
        t.depth = std::min(t.count, seen.end - t.first);
        score(mode, t, r, height);
        T found[kMaxTileRows], sums[kMaxTileRows];
        Change change;
        find_max(t, r, height, found);
        join_max(r, height, found, change);
        weigh(t, r, height, change, sums);
        join_sums(t, r, height, change, sums);
        rescale(t, r, height, change, 0, a_.value_width);
        add_values(mode, t, r, height, 0, a_.value_width);
      }
    }
    finish();
  }

  // Keys that any of the rows attends to.
  KeyRange seen() const { return seen_by_rows(0, rows_); }

  // Prepares keys, and values of columns [column, column + columns), of a tile that no other block needs:
  // unpacked if the tiles can read them so.
  void prepare_keys(Tile& t) const {
    t.packed_count = t.count;
    const std::int64_t unit = f_.is_amx() ? f_.rows : f_.unit;
    t.unpacked = a_.reads_keys_unpacked() && rows_ <= f_.rows ? t.count / unit * unit : 0;
    char* const keys = AttentionScratch::of_thread().keys.take(a_.key_bytes());
    if (t.unpacked < t.count)
      a_.pack_keys(batch_, key_head_, t.first + t.unpacked, t.count - t.unpacked, keys);
    t.keys = keys;
  }
  void prepare_values(Tile& t, std::int64_t column, std::int64_t columns) const {
    t.packed_count = t.count;
    t.values = nullptr;
    if (a_.reads_values_unpacked() && rows_ <= f_.rows) return;
    char* const values = AttentionScratch::of_thread().values.take(a_.value_bytes());
    a_.pack_values(batch_, key_head_, t.first, t.count, column, columns, values);
    t.values = values;
  }

  void score(const TileMode& mode, const Tile& t, std::int64_t r, std::int64_t height) const {
    mode.multiply([&] {
      if (t.unpacked > 0) f_.is_amx() ? score_rows_of_keys(t) : score_transposing(t, height);
      PelTileCall call{};
      point_at(call, queries_ + r * a_.query_row, a_.query_row);
      call.depth = a_.depth;
      call.row = a_.score_row;
      const std::int64_t packed = t.packed_count - t.unpacked;
      for (std::int64_t c = 0; c < t.depth - t.unpacked; c += f_.columns) {
        const int columns = f_.width_at(c, packed);
        call.b = t.keys + c / f_.columns * a_.key_panel;
        call.b_step = f_.panel_step(columns);
        call.out = t.scores + (t.unpacked + c) * kSize;
        f_.tile(height, columns)(&call);
      }
    });
  }

  // The largest score of each row, in units of log(2), after masking; -infinity where it attends to no key.
  void find_max(const Tile& t, std::int64_t r, std::int64_t height, T* found) const {
    const T scale = static_cast<T>(a_.power_scale());
    std::fill_n(found, height, -std::numeric_limits<T>::infinity());
    for_rows_alike(t, r, height, [&](std::int64_t i, std::int64_t rows, const KeyRange& here) {
      if (here.first >= here.end) return;
      char* const scores = t.scores + i * a_.score_row + here.first * kSize;
      for (std::int64_t row = 0; a_.mask.data != nullptr && row < rows; ++row)
        mask_scores(r + i + row, t.first + here.first, here.end - here.first, scores + row * a_.score_row);
      run_rows(scale < 0 ? a_.code.row_min : a_.code.row_max, here.end - here.first, rows,
               {{found + i, kSize}, {scores, a_.score_row}});
      for (std::int64_t row = i; row < i + rows; ++row) found[row] *= scale;
    });
  }
  // The greater of two, or NaN.
  static void take_greater(T& so_far, T found) {
    if (found > so_far || found != found) so_far = found;
  }
  void join_max(std::int64_t r, std::int64_t height, const T* found, Change& change) {
    for (std::int64_t i = 0; i < height; ++i) {
      T& so_far = max_[r + i];
      change.before[i] = so_far;
      take_greater(so_far, found[i]);
      // A row without keys so far has no max.
      change.now[i] = so_far == -std::numeric_limits<T>::infinity() ? T(0) : so_far;
    }
    run_loop(a_.code.decay, height, {{change.decay, 1}, {change.before, 1}, {change.now, 1}});
  }

  // Turns scores into weights, and sums them. Keys that a row does not attend to have weight zero. Adjacent
  // rows with the same keys share one call of the loops.
  void weigh(const Tile& t, std::int64_t r, std::int64_t height, Change& change, T* sums) const {
    for_rows_alike(t, r, height, [&](std::int64_t i, std::int64_t rows, const KeyRange& here) {
      if (here.first < here.end) {
        weigh_rows(t, i, rows, here, change.now + i, sums + i);
      } else {
        clear_weights(t, i, rows, 0, f_.padded(t.depth));
      }
    });
  }
  void join_sums(const Tile& t, std::int64_t r, std::int64_t height, const Change& change, const T* sums) {
    for (std::int64_t i = 0; i < height; ++i) {
      if (!sees(t, r + i)) continue;
      // A NaN or infinite score makes the whole row NaN.
      sum_[r + i] = change.now[i] < std::numeric_limits<T>::infinity()
                        ? sum_[r + i] * change.decay[i] + sums[i]
                        : std::numeric_limits<T>::quiet_NaN();
    }
  }

  // Multiplies columns of the weighted values so far by 2^(before - now). Those before the first score are
  // zero.
  void rescale(const Tile& t, std::int64_t r, std::int64_t height, Change& change, std::int64_t column,
               std::int64_t columns) const {
    for (std::int64_t i = 0; i < height; ++i) {
      if (change.decay[i] == T(1) || change.before[i] == -std::numeric_limits<T>::infinity()) continue;
      if (!sees(t, r + i)) continue;
      char* const so_far = sums_ + (r + i) * a_.sum_row + column * kSize;
      run_loop(a_.code.scale, columns, {{so_far, 1}, {so_far, 1}, {change.decay + i, 0}});
    }
  }
  void add_values(const TileMode& mode, const Tile& t, std::int64_t r, std::int64_t height,
                  std::int64_t column, std::int64_t columns) const {
    PelTileCall call{};
    point_at(call, t.weights, a_.weight_row);
    call.depth = f_.padded(t.depth);
    call.row = a_.sum_row;
    mode.multiply([&] {
      const Heads& v = a_.value;
      for (std::int64_t c = 0; c < columns; c += f_.columns) {
        const int width = f_.width_at(c, columns);
        if (t.values != nullptr) {
          call.b = t.values + c / f_.columns * f_.panel_bytes(t.packed_count);
          call.b_step = f_.panel_step(width);
        } else {
          call.b = v.at(batch_, key_head_, t.first, column + c);
          call.b_step = v.row * kSize;
        }
        call.out = sums_ + r * a_.sum_row + (column + c) * kSize;
        call.chain = call.out;
        f_.tile(height, width)(&call);
      }
    });
  }

  void finish() {
    const Heads &out = a_.out, &lse = a_.logsumexp;
    const std::int64_t size = size_bytes(out.dtype);
    T logs[kMaxBlockRows];
    run_loop(a_.code.logsumexp, rows_, {{logs, 1}, {max_, 1}, {sum_, 1}});
    T factors[kMaxBlockRows];
    for (std::int64_t r = 0; r < rows_; ++r) factors[r] = sum_[r] == T(0) ? T(0) : T(1) / sum_[r];
    const bool dense = out.column == 1;
    for (std::int64_t r = 0, end = 0; r < rows_; r = end) {
      for (end = r + 1; dense && end < rows_ && head_[end] == head_[r];) ++end;
      char* const to = out.at(batch_, head_[r], query_[r]);
      char* const row = dense ? to : AttentionScratch::of_thread().line.take(a_.value_width * size);
      run_rows(a_.code.finish, a_.value_width, end - r,
               {{row, out.row * size}, {sums_ + r * a_.sum_row, a_.sum_row}, {factors + r, kSize}});
      if (!dense) copy_tile({to, 0, out.column * size}, {row, 0, size}, 1, a_.value_width, size);
    }
    for (std::int64_t r = 0; r < rows_; ++r)
      std::memcpy(lse.at(batch_, head_[r], query_[r]), &logs[r], sizeof(T));
  }

 private:
  using PelTileCall = codegen::PelTileCall;
  static constexpr std::int64_t kSize = sizeof(T);

  KeyRange seen_by_rows(std::int64_t begin, std::int64_t end) const {
    KeyRange seen{a_.keys, 0};
    for (std::int64_t r = begin; r < end; ++r) {
      if (seen_[r].first >= seen_[r].end) continue;
      seen = {std::min(seen.first, seen_[r].first), std::max(seen.end, seen_[r].end)};
    }
    return seen;
  }
  // The keys of a tile that a row attends to, from the tile's first on; the range is empty, and its end may
  // be before its first, if there are none.
  KeyRange seen_here(const Tile& t, std::int64_t r) const {
    return {std::max<std::int64_t>(seen_[r].first - t.first, 0), std::min(seen_[r].end - t.first, t.depth)};
  }
  bool sees(const Tile& t, std::int64_t r) const {
    const KeyRange here = seen_here(t, r);
    return here.first < here.end;
  }
  // Calls f(first row, rows, keys) for each group of adjacent rows with the same keys.
  template <class F>
  void for_rows_alike(const Tile& t, std::int64_t r, std::int64_t height, F&& f) const {
    for (std::int64_t i = 0, end = 0; i < height; i = end) {
      const KeyRange here = seen_here(t, r + i);
      for (end = i + 1; end < height; ++end) {
        const KeyRange next = seen_here(t, r + end);
        if (next.first != here.first || next.end != here.end) break;
      }
      f(i, end - i, here);
    }
  }

  void pack_queries() {
    const Heads& q = a_.query;
    // AMX reads full registers.
    if (f_.is_amx() && (rows_ % f_.rows != 0 || a_.depth != a_.width))
      std::memset(queries_, 0, static_cast<std::size_t>(queries_bytes(a_, rows_)));
    const bool copies = f_.is_amx() || !needs_packing(f_, q.matrix(0, 0));
    for (std::int64_t r = 0; r < rows_; ++r) {
      char* const from = q.at(batch_, head_[r], query_[r]);
      char* const to = queries_ + r * a_.query_row;
      if (copies) {
        gather_run(to, from, q.column * f_.element_size, a_.width, f_.element_size);
      } else {
        pack_rows(f_, {{from, 0, 0, q.column}, q.dtype}, {0, a_.width, 0, 1}, to);
      }
    }
  }

  static void point_at(PelTileCall& call, const char* rows, std::int64_t row_bytes) {
    call.a = rows;
    call.a_row = row_bytes;
    call.a_tile = codegen::kAmxSide * row_bytes;
    call.a_step = kRegisterRow;
    call.b_tile = kRegister;
  }
  // Transposes keys that are dense along their columns in registers.
  void score_transposing(const Tile& t, std::int64_t height) const {
    const Heads& k = a_.key;
    PelTileCall call{};
    point_at(call, queries_, a_.query_row);
    call.depth = a_.depth;
    call.row = a_.score_row;
    call.b_step = k.row * size_bytes(k.dtype);
    for (std::int64_t c = 0; c < std::min(t.unpacked, t.depth); c += f_.unit) {
      call.b = k.at(batch_, key_head_, t.first + c);
      call.next = k.at(batch_, key_head_, std::min(t.first + c + f_.unit, a_.keys - 1));
      call.out = t.scores + c * kSize;
      f_.transposing[height](&call);
    }
  }
  // AMX: keys are loaded into the row registers unpacked, and the queries take the role of columns.
  void score_rows_of_keys(const Tile& t) const {
    const Heads& k = a_.key;
    const int columns = f_.width_at(0, rows_);
    char* const panel =
        AttentionScratch::of_thread().transposed.take(a_.key_panel + kTileKeys * f_.columns * kSize);
    char* const scores = panel + a_.key_panel;
    pack_panels(f_, {{queries_, 0, 1, a_.query_row / f_.element_size}, kBF16}, {0, a_.depth, 0, rows_}, panel,
                a_.key_panel);
    PelTileCall call{};
    call.b = panel;
    call.b_step = f_.panel_step(columns);
    call.b_tile = kRegister;
    call.depth = a_.depth;
    call.row = columns * kSize;
    for (std::int64_t c = 0; c < t.unpacked; c += f_.rows) {
      point_at(call, k.at(batch_, key_head_, t.first + c), k.row * f_.element_size);
      call.out = scores + c * call.row;
      f_.tile(f_.rows, columns)(&call);
    }
    copy_tile({t.scores, a_.score_row, kSize}, {scores, kSize, call.row}, rows_, t.unpacked, kSize);
  }

  void mask_scores(std::int64_t r, std::int64_t first_key, std::int64_t count, char* scores) const {
    const Heads& m = a_.mask;
    const std::int64_t size = size_bytes(m.dtype);
    char* from = m.at(batch_, head_[r], query_[r], first_key);
    if (m.column != 1 && m.column != 0) {
      char* const line = AttentionScratch::of_thread().line.take(kTileKeys * 8);
      copy_tile({line, 0, size}, {from, 0, m.column * size}, 1, count, size);
      from = line;
    }
    const double hidden = std::copysign(std::numeric_limits<double>::infinity(), -a_.power_scale());
    const PelScalar scalars[2] = {scalar_of(a_.scales_first() ? a_.scale : 1), scalar_of(hidden)};
    run_loop(m.dtype == kBool ? a_.code.choose : a_.code.add_mask, count,
             {{scores, 1}, {scores, 1}, {from, m.column == 0 ? 0 : 1}}, scalars);
  }

  void weigh_rows(const Tile& t, std::int64_t i, std::int64_t rows, const KeyRange& here, T* row_max,
                  T* sums) const {
    char* const scores = t.scores + i * a_.score_row + here.first * kSize;
    char* const weights = t.weights + i * a_.weight_row;
    const std::int64_t count = here.end - here.first;
    const PelScalar scale[1] = {scalar_of(a_.power_scale())};
    // Without AMX, bf16 is multiplied in f32.
    const bool widens = a_.query.dtype == kBF16 && !f_.is_amx();
    constexpr std::int64_t kNarrowRow = kTileKeys * 2;
    char* const to = widens ? AttentionScratch::of_thread().line.take(rows * kNarrowRow)
                            : weights + here.first * f_.element_size;
    run_rows(
        a_.code.weights, count, rows,
        {{sums, kSize}, {to, widens ? kNarrowRow : a_.weight_row}, {scores, a_.score_row}, {row_max, kSize}},
        scale);
    clear_weights(t, i, rows, 0, here.first);
    clear_weights(t, i, rows, here.end, f_.padded(t.depth));
    for (std::int64_t row = 0; widens && row < rows; ++row)
      run_loop(cast_loop(kBF16, kF32)->function, count,
               {{scores + row * a_.score_row, 1}, {to + row * kNarrowRow, 1}});
  }
  void clear_weights(const Tile& t, std::int64_t i, std::int64_t rows, std::int64_t first,
                     std::int64_t end) const {
    const std::int64_t size = f_.element_size;
    for (std::int64_t row = i; first < end && row < i + rows; ++row)
      std::memset(t.weights + row * a_.weight_row + first * size, 0,
                  static_cast<std::size_t>((end - first) * size));
  }

  static PelScalar scalar_of(double value) { return {value, 0, PEL_SCALAR_FLOAT, {}}; }
  struct LoopOperand {
    void* data;
    std::int64_t stride;
  };
  // The argument arrays of a loop.
  struct Lists {
    explicit Lists(std::initializer_list<LoopOperand> operands) {
      int n = 0;
      for (const LoopOperand& o : operands) {
        data[n] = o.data;
        strides[n++] = o.stride;
      }
    }
    void* data[4];
    std::int64_t strides[4];
  };
  static void run_loop(codegen::PelLoopFn* loop, std::int64_t count,
                       std::initializer_list<LoopOperand> operands, const PelScalar* scalars = nullptr) {
    if (count <= 0) return;
    Lists lists(operands);
    loop(count, lists.data, lists.strides, scalars);
  }
  // Runs a loop once per row: the stride of an operand is the distance between rows, in bytes.
  static void run_rows(codegen::PelRunsFn* loop, std::int64_t count, std::int64_t rows,
                       std::initializer_list<LoopOperand> operands, const PelScalar* scalars = nullptr) {
    if (count <= 0) return;
    Lists lists(operands);
    loop(count, lists.data, scalars, rows, lists.strides);
  }

  const AttentionCall<T>& a_;
  const TileFamily& f_;
  std::int64_t batch_, key_head_, rows_;
  std::int64_t head_[kMaxBlockRows], query_[kMaxBlockRows];
  KeyRange seen_[kMaxBlockRows], seen_by_group_[kMaxBlockRows];
  T max_[kMaxBlockRows], sum_[kMaxBlockRows];
  char *queries_, *sums_;
};

}  // namespace pel::cpu
