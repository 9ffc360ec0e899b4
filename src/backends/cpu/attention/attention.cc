// Attention over tiles of keys (as in FlashAttention). GEMM tiles compute the scores of some queries and
// keys, generated loops turn them into weights, and GEMM tiles sum the weighted values. The full score matrix
// never exists.
//
// Tiles of keys begin at key 0 and have kKeys keys. For each tile, in order: the scores are one chain of
// products over the columns; the running max is updated; weights are e^(score - max); the previous sums are
// rescaled to the new max; and the weighted values are added, key after key. So a row of the result depends
// only on its own query and the keys that it attends to: not on the other rows or on how many keys follow.
//
// Parts: Attention packs keys and values and splits the rows into blocks. Attention::Block runs one block:
// pack_queries, then per tile score, compute_weights and add_values, and finally finish.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>

#include <fmt/format.h>

#include "pellucid/threads.h"

#include "backends/cpu/attention/attention_loops.h"
#include "backends/cpu/elementwise/pointwise.h"
#include "backends/cpu/elementwise/rounding.h"
#include "backends/cpu/elementwise/tile.h"
#include "backends/cpu/gemm/gemm_pack.h"
#include "backends/cpu/gemm/gemm_tiles.h"
#include "backends/cpu/gemm/tile_mode.h"
#include "backends/cpu/grains.h"
#include "backends/cpu/kernels.h"
#include "backends/cpu/rows/row_arguments.h"
#include "backends/cpu/scratch.h"
#include "base/thread_object.h"
#include "tensor/make.h"

namespace pel::cpu {
namespace {

using codegen::kAmxSide;
using codegen::PelTileCall;

constexpr std::int64_t kKeys = 1024;                  // per tile
constexpr std::int64_t kMaxRows = 64, kMinRows = 16;  // rows per block
constexpr std::int64_t kLine = 64;  // padding between rows, so that they do not map to one set of L1

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

struct Workspace {
  Scratch queries, keys, values, scores, weights, transposed, sums, line;
  static Workspace& of_thread() { return thread_object<Workspace>(); }
};

PelScalar scalar_of(double value) { return {value, 0, PEL_SCALAR_FLOAT, {}}; }

// T is the type of scores and sums.
template <class T>
class Attention {
 public:
  explicit Attention(const KernelArgs& args)
      : out_(output(args, 0)),
        logsumexp_(output(args, 1)),
        query_(input(args, 0)),
        key_(input(args, 1)),
        value_(input(args, 2)),
        batch_(input(args, 0).sizes[0]),
        heads_(input(args, 0).sizes[1]),
        key_heads_(input(args, 1).sizes[1]),
        queries_(input(args, 0).sizes[2]),
        keys_(input(args, 1).sizes[2]),
        width_(input(args, 0).sizes[3]),
        value_width_(input(args, 2).sizes[3]),
        scale_(args.scalars[0].as_float),
        is_causal_(args.scalars[1].as_int != 0),
        window_(args.scalars[2].as_int),
        f_(tiles_for(query_.dtype)),
        code_(attention_code(query_.dtype)) {
    if (args.input_count > 3) mask_ = Heads(input(args, 3));
    // Heads that share their keys are processed together.
    if (key_heads_ == heads_ && heads_ > 1 && key_.head == 0 && value_.head == 0) key_heads_ = 1;
    group_ = heads_ / key_heads_;
    rows_ = group_ * queries_;
    depth_ = f_.padded(width_);
    query_row_ = depth_ * f_.element_size + kLine;
    score_row_ = kKeys * kSize + kLine;
    weight_row_ = f_.is_amx() ? kKeys * f_.element_size + kLine : score_row_;
    sum_row_ = round_up(value_width_, f_.columns) * kSize + kLine;
    key_panel_ = f_.panel_bytes(width_);
  }

  // Returns the size of the packed keys and values; they are packed once if several blocks of queries read
  // them.
  std::int64_t scratch_bytes() const {
    if (rows_ <= kMaxRows) return 0;
    return batch_ * key_heads_ * ceil_div(keys_, kKeys) *
           (panels_bytes(f_, width_, kKeys) + panels_bytes(f_, kKeys, value_width_));
  }

  void run(char* scratch) {
    const std::int64_t heads = batch_ * key_heads_, tiles = ceil_div(keys_, kKeys);
    // Smaller blocks, if there would be few for each thread: what they read of the keys stays in L2.
    std::int64_t block_rows = kMaxRows;
    while (block_rows > kMinRows && heads * ceil_div(rows_, block_rows) < 4 * thread_count()) block_rows /= 2;
    const std::int64_t blocks = ceil_div(rows_, block_rows);
    const std::int64_t key_bytes = panels_bytes(f_, width_, kKeys),
                       value_bytes = panels_bytes(f_, kKeys, value_width_);
    std::optional<Tensor> allocated;
    const char* packed = nullptr;
    if (const std::int64_t bytes = scratch_bytes(); bytes != 0) {
      if (scratch == nullptr) {
        allocated = make_dense({bytes}, kU8, kCpu);
        scratch = static_cast<char*>(allocated->raw_data());
      }
      packed = scratch;
      // Keys and values of a tile in turns.
      parallel_for(2 * heads * tiles, Grain::of(kCopyGrainBytes, (key_bytes + value_bytes) / 2),
                   [&](std::int64_t begin, std::int64_t end) {
                     const DefaultFloatMode mode;
                     for (std::int64_t i = begin; i < end; ++i) {
                       const std::int64_t tile = i / 2, first = tile % tiles * kKeys,
                                          count = std::min(kKeys, keys_ - first);
                       const std::int64_t b = tile / tiles / key_heads_, h = tile / tiles % key_heads_;
                       char* const to = scratch + tile * (key_bytes + value_bytes);
                       if (i % 2 == 0) {
                         pack_keys(b, h, first, count, to);
                       } else {
                         pack_values(b, h, first, count, to + key_bytes);
                       }
                     }
                   });
    }
    parallel_for(heads * blocks, grain(std::min(rows_, block_rows)),
                 [&](std::int64_t begin, std::int64_t end) {
                   const TileMode mode(f_);
                   for (std::int64_t i = begin; i < end; ++i) {
                     const std::int64_t head = i / blocks, first = i % blocks * block_rows;
                     const char* const panels =
                         packed != nullptr ? packed + head * tiles * (key_bytes + value_bytes) : nullptr;
                     Block block(*this, mode, head / key_heads_, head % key_heads_, first,
                                 std::min(block_rows, rows_ - first));
                     block.run(panels, key_bytes, key_bytes + value_bytes);
                   }
                 });
  }

 private:
  static constexpr std::int64_t kSize = sizeof(T);

  Grain grain(std::int64_t rows) const {
    const auto multiply_adds = static_cast<double>(keys_ * (width_ + value_width_));
    const double ns =
        multiply_adds * std::max(static_cast<double>(rows) / 50, static_cast<double>(f_.element_size) / 20);
    return Grain::of(kGrainNs, static_cast<std::int64_t>(ns));
  }

  void pack_keys(std::int64_t b, std::int64_t h, std::int64_t first, std::int64_t count, char* to) const {
    const PackSource keys = key_.matrix(b, h);
    pack_panels(f_, {keys.matrix.transposed(), keys.dtype}, {0, width_, first, count}, to, key_panel_);
  }
  void pack_values(std::int64_t b, std::int64_t h, std::int64_t first, std::int64_t count, char* to) const {
    pack_panels(f_, value_.matrix(b, h), {first, count, 0, value_width_}, to, f_.panel_bytes(count));
  }

  // Whether scores are scaled before the mask. An additive mask requires it. A bool mask does not, so that a
  // row has the same bits as without the hidden keys; but a scale of 0 times its infinity would be NaN.
  bool scales_first() const { return mask_.data != nullptr && (mask_.dtype != kBool || scale_ == 0); }
  double power_scale() const { return (scales_first() ? 1 : scale_) * std::numbers::log2e; }

  // Keys [first, end) that a query attends to.
  struct Seen {
    std::int64_t first, end;
  };
  Seen seen_by(std::int64_t query) const {
    Seen seen{0, keys_};
    if (is_causal_) seen.end = std::min(keys_, query + 1);
    if (window_ > 0) {
      const std::int64_t position = is_causal_ ? query : query + keys_ - queries_;
      seen.end = std::clamp(position + 1, std::int64_t{0}, keys_);
      seen.first = std::clamp(position - window_ + 1, std::int64_t{0}, seen.end);
    }
    return seen;
  }

  // A block of rows that is processed tile by tile. A row is a query of one of the heads that share keys.
  class Block {
   public:
    Block(const Attention& a, const TileMode& mode, std::int64_t b, std::int64_t key_head, std::int64_t first,
          std::int64_t rows)
        : a_(a),
          f_(a.f_),
          mode_(mode),
          workspace_(Workspace::of_thread()),
          batch_(b),
          key_head_(key_head),
          rows_(rows) {
      for (std::int64_t r = 0; r < rows; ++r) {
        const bool is_next = r > 0 && query_[r - 1] + 1 < a.queries_;
        head_[r] = is_next ? head_[r - 1] : key_head * a.group_ + (first + r) / a.queries_;
        query_[r] = is_next ? query_[r - 1] + 1 : (first + r) % a.queries_;
        seen_[r] = a.seen_by(query_[r]);
        max_[r] = -std::numeric_limits<T>::infinity();
        sum_[r] = 0;
      }
      const std::int64_t all = round_up(rows, f_.rows);
      queries_ = workspace_.queries.take(all * a.query_row_);
      pack_queries();
      scores_ = workspace_.scores.take(f_.rows * a.score_row_);
      weights_ = f_.is_amx() ? workspace_.weights.take(f_.rows * a.weight_row_) : scores_;
      sums_ = workspace_.sums.take(all * a.sum_row_);
      std::memset(sums_, 0, static_cast<std::size_t>(all * a.sum_row_));
    }

    // `panels` holds the packed panels of all tiles, or is null.
    void run(const char* panels, std::int64_t key_bytes, std::int64_t tile_bytes) {
      const Seen all = seen_by_rows(0, rows_);
      for (std::int64_t r = 0; r < rows_; r += f_.rows)
        seen_by_group_[r / f_.rows] = seen_by_rows(r, std::min<std::int64_t>(r + f_.rows, rows_));
      for (std::int64_t tile = all.first / kKeys; tile * kKeys < all.end; ++tile) {
        first_key_ = tile * kKeys;
        count_ = std::min(kKeys, all.end - first_key_);
        if (panels != nullptr) {
          packed_count_ = std::min(kKeys, a_.keys_ - first_key_);
          keys_ = panels + tile * tile_bytes;
          values_ = keys_ + key_bytes;
        } else {
          prepare_tile(key_bytes, tile_bytes - key_bytes);
        }
        for (std::int64_t r = 0; r < rows_; r += f_.rows) {
          const std::int64_t height = std::min<std::int64_t>(f_.rows, rows_ - r);
          const Seen& seen = seen_by_group_[r / f_.rows];
          if (seen.first >= first_key_ + count_ || seen.end <= first_key_) continue;
          depth_ = std::min(count_, seen.end - first_key_);
          score(r, height);
          compute_weights(r, height);
          add_values(r, height);
        }
      }
      finish();
    }

   private:
    Seen seen_by_rows(std::int64_t begin, std::int64_t end) const {
      Seen seen{a_.keys_, 0};
      for (std::int64_t r = begin; r < end; ++r) {
        if (seen_[r].first >= seen_[r].end) continue;
        seen = {std::min(seen.first, seen_[r].first), std::max(seen.end, seen_[r].end)};
      }
      return seen;
    }

    void pack_queries() {
      const Heads& q = a_.query_;
      // AMX reads full registers.
      if (f_.is_amx() && (rows_ % f_.rows != 0 || a_.depth_ != a_.width_))
        std::memset(queries_, 0, static_cast<std::size_t>(round_up(rows_, f_.rows) * a_.query_row_));
      const bool copies = f_.is_amx() || !needs_packing(f_, q.matrix(0, 0));
      for (std::int64_t r = 0; r < rows_; ++r) {
        char* const from = q.at(batch_, head_[r], query_[r]);
        char* const to = queries_ + r * a_.query_row_;
        if (copies) {
          gather_run(to, from, q.column * f_.element_size, a_.width_, f_.element_size);
        } else {
          pack_rows(f_, {{from, 0, 0, q.column}, q.dtype}, {0, a_.width_, 0, 1}, to);
        }
      }
    }

    // Prepares the keys and values of one tile that no other block needs: unpacked if the tiles can read them
    // so.
    void prepare_tile(std::int64_t key_bytes, std::int64_t value_bytes) {
      packed_count_ = count_;
      const std::int64_t unit = f_.is_amx() ? f_.rows : f_.unit;
      unpacked_ = a_.reads_keys_unpacked() && rows_ <= f_.rows ? count_ / unit * unit : 0;
      char* const keys = workspace_.keys.take(key_bytes);
      if (unpacked_ < count_)
        a_.pack_keys(batch_, key_head_, first_key_ + unpacked_, count_ - unpacked_, keys);
      keys_ = keys;
      if (a_.reads_values_unpacked() && rows_ <= f_.rows) {
        values_ = nullptr;
        return;
      }
      char* const values = workspace_.values.take(value_bytes);
      a_.pack_values(batch_, key_head_, first_key_, count_, values);
      values_ = values;
    }

    void point_at(PelTileCall& call, const char* rows, std::int64_t row_bytes) const {
      call.a = rows;
      call.a_row = row_bytes;
      call.a_tile = kAmxSide * row_bytes;
      call.a_step = kRegisterRow;
      call.b_tile = kRegister;
    }

    void score(std::int64_t r, std::int64_t height) {
      mode_.multiply([&] {
        if (unpacked_ > 0) f_.is_amx() ? score_rows_of_keys() : score_transposing(height);
        PelTileCall call{};
        point_at(call, queries_ + r * a_.query_row_, a_.query_row_);
        call.depth = a_.depth_;
        call.row = a_.score_row_;
        const std::int64_t packed = packed_count_ - unpacked_;
        for (std::int64_t c = 0; c < depth_ - unpacked_; c += f_.columns) {
          const int columns = f_.width_at(c, packed);
          call.b = keys_ + c / f_.columns * a_.key_panel_;
          call.b_step = f_.panel_step(columns);
          call.out = scores_ + (unpacked_ + c) * kSize;
          f_.tile(height, columns)(&call);
        }
      });
    }
    // Transposes keys that are dense along their columns in registers.
    void score_transposing(std::int64_t height) {
      const Heads& k = a_.key_;
      PelTileCall call{};
      point_at(call, queries_, a_.query_row_);
      call.depth = a_.depth_;
      call.row = a_.score_row_;
      call.b_step = k.row * size_bytes(k.dtype);
      for (std::int64_t c = 0; c < std::min(unpacked_, depth_); c += f_.unit) {
        call.b = k.at(batch_, key_head_, first_key_ + c);
        call.next = k.at(batch_, key_head_, std::min(first_key_ + c + f_.unit, a_.keys_ - 1));
        call.out = scores_ + c * kSize;
        f_.transposing[height](&call);
      }
    }
    // AMX: keys are loaded into the row registers unpacked, and the queries take the role of columns.
    void score_rows_of_keys() {
      const Heads& k = a_.key_;
      const int columns = f_.width_at(0, rows_);
      char* const panel = workspace_.transposed.take(a_.key_panel_ + kKeys * f_.columns * kSize);
      char* const scores = panel + a_.key_panel_;
      pack_panels(f_, {{queries_, 0, 1, a_.query_row_ / f_.element_size}, kBF16}, {0, a_.depth_, 0, rows_},
                  panel, a_.key_panel_);
      PelTileCall call{};
      call.b = panel;
      call.b_step = f_.panel_step(columns);
      call.b_tile = kRegister;
      call.depth = a_.depth_;
      call.row = columns * kSize;
      for (std::int64_t c = 0; c < unpacked_; c += f_.rows) {
        point_at(call, k.at(batch_, key_head_, first_key_ + c), k.row * f_.element_size);
        call.out = scores + c * call.row;
        f_.tile(f_.rows, columns)(&call);
      }
      copy_tile({scores_, a_.score_row_, kSize}, {scores, kSize, call.row}, rows_, unpacked_, kSize);
    }

    // Turns scores into weights. Keys that a row does not attend to have weight zero. Adjacent rows with the
    // same keys share one call of the loops.
    void compute_weights(std::int64_t r, std::int64_t height) {
      T before[kMaxTileRows], now[kMaxTileRows], decay[kMaxTileRows];
      std::copy_n(max_ + r, height, before);
      for_rows_alike(r, height, [&](std::int64_t i, std::int64_t rows, const Seen& here) {
        if (here.first < here.end) update_max(r + i, i, rows, here);
      });
      for (std::int64_t i = 0; i < height; ++i) now[i] = finite(max_[r + i]);
      run_loop(a_.code_.decay, height, {{decay, 1}, {before, 1}, {now, 1}});
      for_rows_alike(r, height, [&](std::int64_t i, std::int64_t rows, const Seen& here) {
        if (here.first < here.end) return make_weights(r + i, i, rows, here, now + i, before + i, decay + i);
        clear_weights(i, rows, 0, f_.padded(depth_));
      });
    }
    // Calls f(first row, rows, keys) for each group of adjacent rows with the same keys.
    template <class F>
    void for_rows_alike(std::int64_t r, std::int64_t height, F&& f) {
      for (std::int64_t i = 0, end = 0; i < height; i = end) {
        const Seen here = seen_here(r + i);
        for (end = i + 1; end < height; ++end) {
          const Seen next = seen_here(r + end);
          if (next.first != here.first || next.end != here.end) break;
        }
        f(i, end - i, here);
      }
    }
    Seen seen_here(std::int64_t r) const {
      return {std::max<std::int64_t>(seen_[r].first - first_key_, 0),
              std::min(seen_[r].end - first_key_, depth_)};
    }
    // A row without keys so far has no max.
    static T finite(T row_max) { return row_max == -std::numeric_limits<T>::infinity() ? T(0) : row_max; }

    void update_max(std::int64_t r, std::int64_t i, std::int64_t rows, const Seen& here) {
      char* const scores = scores_ + i * a_.score_row_ + here.first * kSize;
      for (std::int64_t row = 0; a_.mask_.data != nullptr && row < rows; ++row)
        mask_scores(r + row, here, scores + row * a_.score_row_);
      const T scale = static_cast<T>(a_.power_scale());
      T found[kMaxTileRows];
      run_rows(scale < 0 ? a_.code_.row_min : a_.code_.row_max, here.end - here.first, rows,
               {{found, kSize}, {scores, a_.score_row_}});
      for (std::int64_t row = 0; row < rows; ++row) {
        const T row_max = found[row] * scale;
        T& so_far = max_[r + row];
        if (row_max > so_far || row_max != row_max) so_far = row_max;
      }
    }
    void mask_scores(std::int64_t r, const Seen& here, char* scores) {
      const Heads& m = a_.mask_;
      const std::int64_t size = size_bytes(m.dtype), count = here.end - here.first;
      char* from = m.at(batch_, head_[r], query_[r], first_key_ + here.first);
      if (m.column != 1 && m.column != 0) {
        char* const line = workspace_.line.take(kKeys * 8);
        copy_tile({line, 0, size}, {from, 0, m.column * size}, 1, count, size);
        from = line;
      }
      const double hidden = std::copysign(std::numeric_limits<double>::infinity(), -a_.power_scale());
      const PelScalar scalars[2] = {scalar_of(a_.scales_first() ? a_.scale_ : 1), scalar_of(hidden)};
      run_loop(m.dtype == kBool ? a_.code_.choose : a_.code_.add_mask, count,
               {{scores, 1}, {scores, 1}, {from, m.column == 0 ? 0 : 1}}, scalars);
    }

    void make_weights(std::int64_t r, std::int64_t i, std::int64_t rows, const Seen& here, T* row_max,
                      const T* before, T* decay) {
      char* const scores = scores_ + i * a_.score_row_ + here.first * kSize;
      char* const weights = weights_ + i * a_.weight_row_;
      const std::int64_t count = here.end - here.first;
      const PelScalar scale[1] = {scalar_of(a_.power_scale())};
      T sums[kMaxTileRows];
      // Without AMX, bf16 is multiplied in f32.
      const bool widens = a_.query_.dtype == kBF16 && !f_.is_amx();
      constexpr std::int64_t kNarrowRow = kKeys * 2;
      char* const to =
          widens ? workspace_.line.take(rows * kNarrowRow) : weights + here.first * f_.element_size;
      run_rows(a_.code_.weights, count, rows,
               {{sums, kSize},
                {to, widens ? kNarrowRow : a_.weight_row_},
                {scores, a_.score_row_},
                {row_max, kSize}},
               scale);
      clear_weights(i, rows, 0, here.first);
      clear_weights(i, rows, here.end, f_.padded(depth_));
      for (std::int64_t row = 0; row < rows; ++row) {
        if (widens)
          run_loop(cast_loop(kBF16, kF32)->function, count,
                   {{scores + row * a_.score_row_, 1}, {to + row * kNarrowRow, 1}});
        // A NaN or infinite score makes the whole row NaN.
        T& sum = sum_[r + row];
        // NOLINTNEXTLINE(clang-analyzer-core.*): the kernel fills `sums`
        sum = row_max[row] < std::numeric_limits<T>::infinity() ? sum * decay[row] + sums[row]
                                                                : std::numeric_limits<T>::quiet_NaN();
        // The sums before the first score are zero.
        char* const so_far = sums_ + (r + row) * a_.sum_row_;
        if (decay[row] != T(1) && before[row] != -std::numeric_limits<T>::infinity())
          run_loop(a_.code_.scale, a_.value_width_, {{so_far, 1}, {so_far, 1}, {decay + row, 0}});
      }
    }
    void clear_weights(std::int64_t i, std::int64_t rows, std::int64_t first, std::int64_t end) {
      const std::int64_t size = f_.element_size;
      for (std::int64_t row = i; first < end && row < i + rows; ++row)
        std::memset(weights_ + row * a_.weight_row_ + first * size, 0,
                    static_cast<std::size_t>((end - first) * size));
    }

    void add_values(std::int64_t r, std::int64_t height) {
      PelTileCall call{};
      point_at(call, weights_, a_.weight_row_);
      call.depth = f_.padded(depth_);
      call.row = a_.sum_row_;
      mode_.multiply([&] {
        const Heads& v = a_.value_;
        for (std::int64_t c = 0; c < a_.value_width_; c += f_.columns) {
          const int columns = f_.width_at(c, a_.value_width_);
          if (values_ != nullptr) {
            call.b = values_ + c / f_.columns * f_.panel_bytes(packed_count_);
            call.b_step = f_.panel_step(columns);
          } else {
            call.b = v.at(batch_, key_head_, first_key_, c);
            call.b_step = v.row * kSize;
          }
          call.out = sums_ + r * a_.sum_row_ + c * kSize;
          call.chain = call.out;
          f_.tile(height, columns)(&call);
        }
      });
    }

    void finish() {
      const Heads &out = a_.out_, &lse = a_.logsumexp_;
      const std::int64_t size = size_bytes(out.dtype);
      T logs[kMaxRows];
      run_loop(a_.code_.logsumexp, rows_, {{logs, 1}, {max_, 1}, {sum_, 1}});
      T factors[kMaxRows];
      for (std::int64_t r = 0; r < rows_; ++r) factors[r] = sum_[r] == T(0) ? T(0) : T(1) / sum_[r];
      const bool dense = out.column == 1;
      for (std::int64_t r = 0, end = 0; r < rows_; r = end) {
        for (end = r + 1; dense && end < rows_ && head_[end] == head_[r];) ++end;
        char* const to = out.at(batch_, head_[r], query_[r]);
        char* const row = dense ? to : workspace_.line.take(a_.value_width_ * size);
        run_rows(a_.code_.finish, a_.value_width_, end - r,
                 {{row, out.row * size}, {sums_ + r * a_.sum_row_, a_.sum_row_}, {factors + r, kSize}});
        if (!dense) copy_tile({to, 0, out.column * size}, {row, 0, size}, 1, a_.value_width_, size);
      }
      for (std::int64_t r = 0; r < rows_; ++r)
        std::memcpy(lse.at(batch_, head_[r], query_[r]), &logs[r], sizeof(T));
    }

    struct Operand {
      void* data;
      std::int64_t stride;
    };
    // The argument arrays of a loop.
    struct Lists {
      explicit Lists(std::initializer_list<Operand> operands) {
        int n = 0;
        for (const Operand& o : operands) {
          data[n] = o.data;
          strides[n++] = o.stride;
        }
      }
      void* data[4];
      std::int64_t strides[4];
    };
    static void run_loop(codegen::PelLoopFn* loop, std::int64_t count,
                         std::initializer_list<Operand> operands, const PelScalar* scalars = nullptr) {
      if (count <= 0) return;
      Lists lists(operands);
      loop(count, lists.data, lists.strides, scalars);
    }
    // Runs a loop once per row: the stride of an operand is the distance between rows, in bytes.
    static void run_rows(codegen::PelRunsFn* loop, std::int64_t count, std::int64_t rows,
                         std::initializer_list<Operand> operands, const PelScalar* scalars = nullptr) {
      if (count <= 0) return;
      Lists lists(operands);
      loop(count, lists.data, scalars, rows, lists.strides);
    }
    static constexpr std::int64_t kMaxTileRows = 32;

    const Attention& a_;
    const TileFamily& f_;
    const TileMode& mode_;
    Workspace& workspace_;
    std::int64_t batch_, key_head_, rows_;
    std::int64_t head_[kMaxRows], query_[kMaxRows];
    Seen seen_[kMaxRows], seen_by_group_[kMaxRows];
    T max_[kMaxRows], sum_[kMaxRows];
    char *queries_, *scores_, *weights_, *sums_;
    // State of the current tile of keys.
    std::int64_t first_key_ = 0, count_ = 0, packed_count_ = 0;
    std::int64_t unpacked_ = 0;  // keys that are read unpacked
    std::int64_t depth_ = 0;     // keys that the current rows need
    const char *keys_ = nullptr, *values_ = nullptr;
  };

  // Return whether tiles for few rows read keys and values unpacked.
  bool reads_keys_unpacked() const {
    if (f_.is_amx()) return key_.column == 1 && width_ % codegen::kPairDepth == 0;
    const PackSource keys = key_.matrix(0, 0);
    return can_transpose(f_, {keys.matrix.transposed(), keys.dtype}) && width_ % f_.transposing_unit() == 0;
  }
  bool reads_values_unpacked() const {
    return !needs_packing(f_, value_.matrix(0, 0)) && value_width_ % f_.unit == 0;
  }

  Heads out_, logsumexp_, query_, key_, value_, mask_;
  std::int64_t batch_, heads_, key_heads_, queries_, keys_, width_, value_width_;
  double scale_;
  bool is_causal_;
  std::int64_t window_;  // 0: none
  const TileFamily& f_;
  const AttentionCode& code_;
  std::int64_t group_;                                                     // heads that share keys
  std::int64_t rows_;                                                      // of these heads
  std::int64_t depth_;                                                     // width, padded
  std::int64_t query_row_, score_row_, weight_row_, sum_row_, key_panel_;  // bytes
};

void run_attention(Stream&, const KernelArgs& args) {
  char* const scratch = static_cast<char*>(args.scratch);
  if (static_cast<DType>(input(args, 0).dtype) == kF64) {
    Attention<double>(args).run(scratch);
  } else {
    Attention<float>(args).run(scratch);
  }
}
std::uint64_t scratch_of_attention(const KernelArgs& args) {
  const bool is_double = static_cast<DType>(input(args, 0).dtype) == kF64;
  return static_cast<std::uint64_t>(is_double ? Attention<double>(args).scratch_bytes()
                                              : Attention<float>(args).scratch_bytes());
}

std::string describe(const KernelArgs& args) {
  const auto dtype = static_cast<DType>(input(args, 0).dtype);
  const TileFamily& family = tiles_for(dtype);
  return fmt::format("pellucid_{}_{}_attention_{}x{}", isa_name(family), name(dtype), family.rows, kKeys);
}

// Counts both GEMMs, as if every query attended to every key.
std::uint64_t flops(const KernelArgs& args) {
  const std::int64_t* q = input(args, 0).sizes;
  const std::int64_t keys = input(args, 1).sizes[2], value_width = input(args, 2).sizes[3];
  return static_cast<std::uint64_t>(2 * q[0] * q[1] * q[2] * keys * (q[3] + value_width));
}

}  // namespace

KernelLists attention_kernels() {
  static const std::vector<Kernel> kList = [] {
    Kernel tiles{"cpu_attention_tiles", supports_any, run_attention};
    tiles.describe = describe;
    tiles.flops = flops;
    tiles.scratch_bytes = scratch_of_attention;
    return std::vector{tiles};
  }();
  static const auto kLists = std::to_array<BackendKernels>({{"attention", kList}});
  return kLists;
}

}  // namespace pel::cpu
