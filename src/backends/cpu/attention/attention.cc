// Attention over tiles of keys: scores of some queries and some keys by the tiles of products, weights of
// them by generated loops, and sums of values weighted so, again by tiles. The scores are never all there.
//
// Tiles of keys begin at key 0 and have kKeys keys. For each, in order: scores are one chain of products over
// the columns; the greatest score so far is found; weights are e^(score - greatest); what was summed before
// is scaled to the new greatest score; and the weighted values are added to it, key after key. So a row of
// the result depends on its own query and the keys that it sees: neither on the other rows, nor on how many
// keys follow.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>

#include <fmt/format.h>

#include "backends/cpu/attention/attention_loops.h"
#include "backends/cpu/elementwise/pointwise.h"
#include "backends/cpu/elementwise/rounding.h"
#include "backends/cpu/elementwise/tile.h"
#include "backends/cpu/gemm/gemm_pack.h"
#include "backends/cpu/gemm/gemm_tiles.h"
#include "backends/cpu/gemm/tile_mode.h"
#include "backends/cpu/kernels.h"
#include "backends/cpu/rows/row_arguments.h"
#include "backends/cpu/scratch.h"
#include "base/thread_pool.h"
#include "tensor/make.h"

namespace pel::cpu {
namespace {

using codegen::kAmxSide;
using codegen::PelTileCall;

constexpr std::int64_t kKeys = 1024;    // of a tile
constexpr std::int64_t kMostRows = 64;  // that go through the tiles of keys together
constexpr std::int64_t kLine = 64;      // beside rows, so that they do not fall into one set of L1

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

struct Room {
  Scratch queries, keys, values, scores, weights, turned, sums, line;
  static Room& of_thread() {
    thread_local Room room;
    return room;
  }
};

PelScalar number(double value) { return {value, 0, PEL_SCALAR_FLOAT, {}}; }

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
    // Heads that share their keys go through them together.
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

  // Of keys and values packed once, where several blocks of queries read them.
  std::int64_t scratch_bytes() const {
    if (rows_ <= kMostRows) return 0;
    return batch_ * key_heads_ * pieces(keys_, kKeys) *
           (panels_bytes(f_, width_, kKeys) + panels_bytes(f_, kKeys, value_width_));
  }

  void run(char* scratch) {
    const std::int64_t blocks = pieces(rows_, kMostRows), tiles = pieces(keys_, kKeys);
    const std::int64_t heads = batch_ * key_heads_;
    const std::int64_t key_bytes = panels_bytes(f_, width_, kKeys),
                       value_bytes = panels_bytes(f_, kKeys, value_width_);
    std::optional<Tensor> taken;
    const char* packed = nullptr;
    if (const std::int64_t bytes = scratch_bytes(); bytes != 0) {
      if (scratch == nullptr) {
        taken = make_dense({bytes}, kU8, kCpu);
        scratch = static_cast<char*>(taken->raw_data());
      }
      packed = scratch;
      parallel_for(heads * tiles, std::max<std::int64_t>(1, (1 << 17) / (key_bytes + value_bytes)),
                   [&](std::int64_t begin, std::int64_t end) {
                     const DefaultFloatMode mode;
                     for (std::int64_t i = begin; i < end; ++i) {
                       char* const to = scratch + i * (key_bytes + value_bytes);
                       const std::int64_t first = i % tiles * kKeys, count = std::min(kKeys, keys_ - first);
                       const std::int64_t b = i / tiles / key_heads_, h = i / tiles % key_heads_;
                       pack_keys(b, h, first, count, to);
                       pack_values(b, h, first, count, to + key_bytes);
                     }
                   });
    }
    parallel_for(heads * blocks, grain(std::min(rows_, kMostRows)),
                 [&](std::int64_t begin, std::int64_t end) {
                   const TileMode mode(f_);
                   for (std::int64_t i = begin; i < end; ++i) {
                     const std::int64_t head = i / blocks, first = i % blocks * kMostRows;
                     const char* const panels =
                         packed != nullptr ? packed + head * tiles * (key_bytes + value_bytes) : nullptr;
                     Block block(*this, mode, head / key_heads_, head % key_heads_, first,
                                 std::min(kMostRows, rows_ - first));
                     block.run(panels, key_bytes, key_bytes + value_bytes);
                   }
                 });
  }

 private:
  static constexpr std::int64_t kSize = sizeof(T);

  // Tasks worth some 20 µs.
  std::int64_t grain(std::int64_t rows) const {
    const auto products = static_cast<double>(keys_ * (width_ + value_width_));
    const double ns =
        products * std::max(static_cast<double>(rows) / 50, static_cast<double>(f_.element_size) / 20);
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(20'000 / std::max(ns, 1.0)));
  }

  void pack_keys(std::int64_t b, std::int64_t h, std::int64_t first, std::int64_t count, char* to) const {
    const PackSource keys = key_.matrix(b, h);
    pack_panels(f_, {keys.matrix.turned(), keys.dtype}, {0, width_, first, count}, to, key_panel_);
  }
  void pack_values(std::int64_t b, std::int64_t h, std::int64_t first, std::int64_t count, char* to) const {
    pack_panels(f_, value_.matrix(b, h), {first, count, 0, value_width_}, to, f_.panel_bytes(count));
  }

  // What makes powers of 2 of scores, which were scaled before where there is a mask.
  // Of scores as they are weighed. A mask that is added needs them scaled before. One that hides keys does
  // not, so that a row has the same bits as if they were not there; but 0 times its infinity would be NaN.
  bool scales_first() const { return mask_.data != nullptr && (mask_.dtype != kBool || scale_ == 0); }
  double power_scale() const { return (scales_first() ? 1 : scale_) * std::numbers::log2e; }

  // Keys [first, end) that a query sees.
  struct Seen {
    std::int64_t first, end;
  };
  Seen seen_by(std::int64_t query) const {
    Seen seen{0, keys_};
    if (is_causal_) seen.end = std::min(keys_, query + 1);
    if (window_ > 0) {
      const std::int64_t place = is_causal_ ? query : query + keys_ - queries_;
      seen.end = std::clamp(place + 1, std::int64_t{0}, keys_);
      seen.first = std::clamp(place - window_ + 1, std::int64_t{0}, seen.end);
    }
    return seen;
  }

  // Rows of queries that go through the tiles of keys. A row is a query of one of the heads that share keys.
  class Block {
   public:
    Block(const Attention& a, const TileMode& mode, std::int64_t b, std::int64_t key_head, std::int64_t first,
          std::int64_t rows)
        : a_(a),
          f_(a.f_),
          mode_(mode),
          room_(Room::of_thread()),
          batch_(b),
          key_head_(key_head),
          rows_(rows) {
      for (std::int64_t r = 0; r < rows; ++r) {
        const bool is_next = r > 0 && query_[r - 1] + 1 < a.queries_;
        head_[r] = is_next ? head_[r - 1] : key_head * a.group_ + (first + r) / a.queries_;
        query_[r] = is_next ? query_[r - 1] + 1 : (first + r) % a.queries_;
        seen_[r] = a.seen_by(query_[r]);
        greatest_[r] = -std::numeric_limits<T>::infinity();
        sum_[r] = 0;
      }
      const std::int64_t all = round_up(rows, f_.rows);
      queries_ = room_.queries.take(all * a.query_row_);
      take_queries();
      scores_ = room_.scores.take(f_.rows * a.score_row_);
      weights_ = f_.is_amx() ? room_.weights.take(f_.rows * a.weight_row_) : scores_;
      sums_ = room_.sums.take(all * a.sum_row_);
      std::memset(sums_, 0, static_cast<std::size_t>(all * a.sum_row_));
    }

    // `panels` are those of all tiles, or null.
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
          weigh(r, height);
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

    void take_queries() {
      const Heads& q = a_.query_;
      // AMX reads whole registers.
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

    // Keys and values of one tile, which no other block needs: read as they lie where tiles can.
    void prepare_tile(std::int64_t key_bytes, std::int64_t value_bytes) {
      packed_count_ = count_;
      const std::int64_t unit = f_.is_amx() ? f_.rows : f_.unit;
      turned_ = a_.keys_lie_well() && rows_ <= f_.rows ? count_ / unit * unit : 0;
      char* const keys = room_.keys.take(key_bytes);
      if (turned_ < count_) a_.pack_keys(batch_, key_head_, first_key_ + turned_, count_ - turned_, keys);
      keys_ = keys;
      if (a_.values_lie_well() && rows_ <= f_.rows) {
        values_ = nullptr;
        return;
      }
      char* const values = room_.values.take(value_bytes);
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
        if (turned_ > 0) f_.is_amx() ? score_rows_of_keys() : score_turning(height);
        PelTileCall call{};
        point_at(call, queries_ + r * a_.query_row_, a_.query_row_);
        call.depth = a_.depth_;
        call.row = a_.score_row_;
        const std::int64_t packed = packed_count_ - turned_;
        for (std::int64_t c = 0; c < depth_ - turned_; c += f_.columns) {
          const int columns = f_.width_at(c, packed);
          call.b = keys_ + c / f_.columns * a_.key_panel_;
          call.b_step = f_.panel_step(columns);
          call.out = scores_ + (turned_ + c) * kSize;
          f_.tile(height, columns)(&call);
        }
      });
    }
    // Keys that are dense along their columns are turned in registers.
    void score_turning(std::int64_t height) {
      const Heads& k = a_.key_;
      PelTileCall call{};
      point_at(call, queries_, a_.query_row_);
      call.depth = a_.depth_;
      call.row = a_.score_row_;
      call.b_step = k.row * size_bytes(k.dtype);
      for (std::int64_t c = 0; c < std::min(turned_, depth_); c += f_.unit) {
        call.b = k.at(batch_, key_head_, first_key_ + c);
        call.next = k.at(batch_, key_head_, std::min(first_key_ + c + f_.unit, a_.keys_ - 1));
        call.out = scores_ + c * kSize;
        f_.turning[height](&call);
      }
    }
    // AMX: keys go into the registers of rows as they lie, and the queries stand for columns.
    void score_rows_of_keys() {
      const Heads& k = a_.key_;
      const int columns = f_.width_at(0, rows_);
      char* const panel = room_.turned.take(a_.key_panel_ + kKeys * f_.columns * kSize);
      char* const scores = panel + a_.key_panel_;
      pack_panels(f_, {{queries_, 0, 1, a_.query_row_ / f_.element_size}, kBF16}, {0, a_.depth_, 0, rows_},
                  panel, a_.key_panel_);
      PelTileCall call{};
      call.b = panel;
      call.b_step = f_.panel_step(columns);
      call.b_tile = kRegister;
      call.depth = a_.depth_;
      call.row = columns * kSize;
      for (std::int64_t c = 0; c < turned_; c += f_.rows) {
        point_at(call, k.at(batch_, key_head_, first_key_ + c), k.row * f_.element_size);
        call.out = scores + c * call.row;
        f_.tile(f_.rows, columns)(&call);
      }
      copy_tile({scores_, a_.score_row_, kSize}, {scores, kSize, call.row}, rows_, turned_, kSize);
    }

    // Scores become weights. What lies outside of the keys that a row sees is zero. Neighbours that see the
    // same keys go through the loops together.
    void weigh(std::int64_t r, std::int64_t height) {
      T before[kMostTileRows], now[kMostTileRows], decay[kMostTileRows];
      std::copy_n(greatest_ + r, height, before);
      for_rows_alike(r, height, [&](std::int64_t i, std::int64_t rows, const Seen& here) {
        if (here.first < here.end) find_greatest(r + i, i, rows, here);
      });
      for (std::int64_t i = 0; i < height; ++i) now[i] = finite(greatest_[r + i]);
      run_loop(a_.code_.decay, height, {{decay, 1}, {before, 1}, {now, 1}});
      for_rows_alike(r, height, [&](std::int64_t i, std::int64_t rows, const Seen& here) {
        if (here.first < here.end) return make_weights(r + i, i, rows, here, now + i, before + i, decay + i);
        clear_weights(i, rows, 0, f_.padded(depth_));
      });
    }
    // f(first row, rows, keys).
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
    // A row that sees nothing yet has no greatest score.
    static T finite(T greatest) { return greatest == -std::numeric_limits<T>::infinity() ? T(0) : greatest; }

    void find_greatest(std::int64_t r, std::int64_t i, std::int64_t rows, const Seen& here) {
      char* const scores = scores_ + i * a_.score_row_ + here.first * kSize;
      for (std::int64_t row = 0; a_.mask_.data != nullptr && row < rows; ++row)
        mask_scores(r + row, here, scores + row * a_.score_row_);
      const T scale = static_cast<T>(a_.power_scale());
      T found[kMostTileRows];
      run_rows(scale < 0 ? a_.code_.least : a_.code_.greatest, here.end - here.first, rows,
               {{found, kSize}, {scores, a_.score_row_}});
      for (std::int64_t row = 0; row < rows; ++row) {
        const T greatest = found[row] * scale;
        T& so_far = greatest_[r + row];
        if (greatest > so_far || greatest != greatest) so_far = greatest;
      }
    }
    void mask_scores(std::int64_t r, const Seen& here, char* scores) {
      const Heads& m = a_.mask_;
      const std::int64_t size = size_bytes(m.dtype), count = here.end - here.first;
      char* from = m.at(batch_, head_[r], query_[r], first_key_ + here.first);
      if (m.column != 1 && m.column != 0) {
        char* const line = room_.line.take(kKeys * 8);
        copy_tile({line, 0, size}, {from, 0, m.column * size}, 1, count, size);
        from = line;
      }
      const double hidden = std::copysign(std::numeric_limits<double>::infinity(), -a_.power_scale());
      const PelScalar numbers[2] = {number(a_.scales_first() ? a_.scale_ : 1), number(hidden)};
      run_loop(m.dtype == kBool ? a_.code_.choose : a_.code_.add_mask, count,
               {{scores, 1}, {scores, 1}, {from, m.column == 0 ? 0 : 1}}, numbers);
    }

    void make_weights(std::int64_t r, std::int64_t i, std::int64_t rows, const Seen& here, T* greatest,
                      const T* before, T* decay) {
      char* const scores = scores_ + i * a_.score_row_ + here.first * kSize;
      char* const weights = weights_ + i * a_.weight_row_;
      const std::int64_t count = here.end - here.first;
      const PelScalar scale[1] = {number(a_.power_scale())};
      T sums[kMostTileRows];
      // Without AMX, bf16 is multiplied in f32.
      const bool widens = a_.query_.dtype == kBF16 && !f_.is_amx();
      constexpr std::int64_t kNarrowRow = kKeys * 2;
      char* const to = widens ? room_.line.take(rows * kNarrowRow) : weights + here.first * f_.element_size;
      run_rows(a_.code_.weights, count, rows,
               {{sums, kSize},
                {to, widens ? kNarrowRow : a_.weight_row_},
                {scores, a_.score_row_},
                {greatest, kSize}},
               scale);
      clear_weights(i, rows, 0, here.first);
      clear_weights(i, rows, here.end, f_.padded(depth_));
      for (std::int64_t row = 0; row < rows; ++row) {
        if (widens)
          run_loop(cast_loop(kBF16, kF32)->function, count,
                   {{scores + row * a_.score_row_, 1}, {to + row * kNarrowRow, 1}});
        // A score that is NaN or infinite makes a row of NaN.
        T& sum = sum_[r + row];
        // NOLINTNEXTLINE(clang-analyzer-core.*): the kernel fills `sums`
        sum = greatest[row] < std::numeric_limits<T>::infinity() ? sum * decay[row] + sums[row]
                                                                 : std::numeric_limits<T>::quiet_NaN();
        // What was summed before the first score is zero.
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
      T logs[kMostRows];
      run_loop(a_.code_.logsumexp, rows_, {{logs, 1}, {greatest_, 1}, {sum_, 1}});
      T factors[kMostRows];
      for (std::int64_t r = 0; r < rows_; ++r) factors[r] = sum_[r] == T(0) ? T(0) : T(1) / sum_[r];
      const bool dense = out.column == 1;
      for (std::int64_t r = 0, end = 0; r < rows_; r = end) {
        for (end = r + 1; dense && end < rows_ && head_[end] == head_[r];) ++end;
        char* const to = out.at(batch_, head_[r], query_[r]);
        char* const row = dense ? to : room_.line.take(a_.value_width_ * size);
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
    // As loops take them.
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
                         std::initializer_list<Operand> operands, const PelScalar* numbers = nullptr) {
      if (count <= 0) return;
      Lists lists(operands);
      loop(count, lists.data, lists.strides, numbers);
    }
    // A run for each row: the stride of an operand is from one row to the next, in bytes.
    static void run_rows(codegen::PelRunsFn* loop, std::int64_t count, std::int64_t rows,
                         std::initializer_list<Operand> operands, const PelScalar* numbers = nullptr) {
      if (count <= 0) return;
      Lists lists(operands);
      loop(count, lists.data, numbers, rows, lists.strides);
    }
    static constexpr std::int64_t kMostTileRows = 32;

    const Attention& a_;
    const TileFamily& f_;
    const TileMode& mode_;
    Room& room_;
    std::int64_t batch_, key_head_, rows_;
    std::int64_t head_[kMostRows], query_[kMostRows];
    Seen seen_[kMostRows], seen_by_group_[kMostRows];
    T greatest_[kMostRows], sum_[kMostRows];
    char *queries_, *scores_, *weights_, *sums_;
    // Of the tile of keys.
    std::int64_t first_key_ = 0, count_ = 0, packed_count_ = 0;
    std::int64_t turned_ = 0;  // keys that are read as they lie
    std::int64_t depth_ = 0;   // keys that the rows at hand need
    const char *keys_ = nullptr, *values_ = nullptr;
  };

  // Whether tiles for few rows read keys and values as they lie.
  bool keys_lie_well() const {
    if (f_.is_amx()) return key_.column == 1 && width_ % codegen::kPairDepth == 0;
    const PackSource keys = key_.matrix(0, 0);
    return may_turn(f_, {keys.matrix.turned(), keys.dtype}) && width_ % f_.turning_unit() == 0;
  }
  bool values_lie_well() const {
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
  std::int64_t rows_;                                                      // of all of them
  std::int64_t depth_;                                                     // width, filled up
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

// Of both products, as if every query saw every key.
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
