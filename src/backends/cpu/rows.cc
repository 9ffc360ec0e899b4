#include "backends/cpu/rows.h"

#include <algorithm>
#include <cstring>

#include "backends/cpu/float_mode.h"
#include "backends/cpu/pointwise.h"
#include "backends/cpu/row_arguments.h"
#include "backends/cpu/stream_store.h"
#include "backends/cpu/tile.h"
#include "base/check.h"
#include "base/small_vector.h"
#include "base/thread_pool.h"
#include "tensor/convert.h"

namespace pel::cpu {
namespace {

using codegen::PelLoopFn;

constexpr std::int64_t kBlock = 1024;  // elements that are folded at once
constexpr std::int64_t kLanes = codegen::Fold::kLanes;
// Rows that are taken through all folds together stay in L2 between them.
constexpr std::int64_t kChunkBytes = 256 << 10;
constexpr std::int64_t kMostRows = 32, kMostColumns = 512;
// Kept elements of a chunk; more are computed again.
constexpr std::int64_t kMostKeptBytes = 1 << 20;
// Chunks that threads share out, where each has enough columns.
constexpr std::int64_t kShares = 8, kFewestInChunk = 256;
constexpr std::int64_t kFetchRows = 8;  // by columns, rows that are fetched ahead
// Neighbouring columns that are worth walking across rows for.
constexpr std::int64_t kFewestColumns = 8;
constexpr std::int64_t kMostInGroup = 256;  // columns of rows that are taken several at once
constexpr std::int64_t kGrain = 16 << 10;   // elements worth a thread
constexpr std::int64_t kFewestInRun = 16;   // of a row that is written run by run

// A value that can be compared; f16 and bf16 are no values.
template <class T>
auto load_number(const char* from) {
  if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>) {
    return convert<float>(load_as<T>(from));
  } else {
    return load_as<T>(from);
  }
}

void cast_elements(char* to, DType to_type, char* from, DType from_type, std::int64_t count) {
  void* data[2] = {to, from};
  constexpr std::int64_t kDense[2] = {1, 1};
  cast_loop(from_type, to_type)->function(count, data, kDense, nullptr);
}

class RowRun {
 public:
  RowRun(const RowCode& code, const KernelArgs& args)
      : code_(code), outputs_(static_cast<int>(code.outputs.size())), width_(size_bytes(code.value)) {
    PEL_ASSERT(outputs_ <= kMaxOutputs && code.folds.size() <= kMaxFolds, "fits the driver's arrays");
    for (int k = 0; k < operand_count(); ++k) {
      base_[k] = static_cast<char*>(args.operands[k].data);
      stored_[k] = static_cast<DType>(args.operands[k].dtype);
    }
    make_axes(args);
    length_ = count_of(reduced_);
    rows_ = count_of(kept_);
    blocks_ = (length_ + kBlock - 1) / kBlock;
    numbers_.push_back({static_cast<double>(length_), length_, PEL_SCALAR_INT, {}});
    for (std::uint32_t i = 1; i < args.scalar_count; ++i) numbers_.push_back(args.scalars[i]);
    plan();
  }

  void run() {
    // Few chunks of many blocks share out their blocks.
    const std::int64_t grain =
        chunks_ < kShares && blocks_ >= kShares
            ? chunks_
            : std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, length_ * chunk_width_));
    parallel_for(chunks_, grain, [&](std::int64_t begin, std::int64_t end) {
      const DefaultFloatMode mode;
      Chunk chunk(*this);
      for (std::int64_t i = begin; i < end; ++i) chunk.run(i);
      stream_fence();
    });
  }

 private:
  int operand_count() const { return outputs_ + code_.input_count; }

  void make_axes(const KernelArgs& args) {
    const Operand& first = input(args, 0);
    const auto mask = static_cast<std::uint64_t>(args.scalars[0].as_int);
    for (int i = first.rank; i-- > 0;) {
      if (first.sizes[i] == 1) continue;
      Axis axis{first.sizes[i], {}};
      for (int k = 0; k < operand_count(); ++k)
        axis.step[k] = args.operands[k].strides[i] * size_bytes(stored_[k]);
      join((mask >> i) & 1 ? reduced_ : kept_, axis);
    }
    // Kept axes in the order of memory: neighbours share lines. Reduced ones keep theirs.
    std::sort(kept_.begin(), kept_.end(),
              [this](const Axis& a, const Axis& b) { return a.step[outputs_] < b.step[outputs_]; });
  }
  // An axis that continues the one inside it is one with it, where no operand can tell.
  void join(Axes& axes, const Axis& axis) const {
    bool continues = !axes.empty();
    for (int k = 0; continues && k < operand_count(); ++k)
      continues = axis.step[k] == axes.back().size * axes.back().step[k];
    if (continues) {
      axes.back().size *= axis.size;
    } else {
      axes.push_back(axis);
    }
  }

  void plan() {
    const int first = outputs_;
    by_columns_ = !kept_.empty() && !reduced_.empty() && kept_[0].size >= kFewestColumns &&
                  kept_[0].step[first] < reduced_[0].step[first] && kept_[0].step[first] != 0;
    for (int k = 0; k < operand_count(); ++k) {
      repeats_[k] = is_dense_[k] = true;
      std::int64_t dense = size_bytes(stored_[k]);
      for (const Axis& axis : reduced_) {
        repeats_[k] = repeats_[k] && axis.step[k] == 0;
        is_dense_[k] = is_dense_[k] && axis.step[k] == dense;
        dense *= axis.size;
      }
    }
    is_grouped_ = by_columns_ && reduced_.size() == 1 && kept_[0].size <= kMostInGroup && code_.keeps < 0;
    for (int k = first; is_grouped_ && k < operand_count(); ++k)
      is_grouped_ = repeats_[k] || (follows(k) && stored_[k] == wanted(k));
    const std::int64_t row_bytes = std::max<std::int64_t>(1, length_ * size_bytes(stored_[first]));
    if (by_columns_) {
      const bool once = code_.folds.size() == 1 && !has_row_output();
      const std::int64_t fits =
          once ? kMostColumns : std::clamp<std::int64_t>(2 * kChunkBytes / row_bytes, 16, kMostColumns);
      const std::int64_t shared = std::max(kFewestInChunk, (kept_[0].size + kShares - 1) / kShares);
      chunk_width_ = is_grouped_ ? kept_[0].size : std::min({fits, shared, kept_[0].size});
      chunks_inside_ = (kept_[0].size + chunk_width_ - 1) / chunk_width_;
      chunks_ = rows_ / kept_[0].size * chunks_inside_;
    } else {
      const std::int64_t shared = std::max<std::int64_t>(1, rows_ / kShares);
      chunk_width_ = std::min(std::clamp<std::int64_t>(kChunkBytes / row_bytes, 1, kMostRows), shared);
      chunks_ = (rows_ + chunk_width_ - 1) / chunk_width_;
    }
    is_direct_ = by_columns_ && reduced_.size() == 1;
    for (int k = first; is_direct_ && k < operand_count(); ++k) {
      is_direct_ =
          stored_[k] == wanted(k) && (kept_[0].step[k] == size_bytes(stored_[k]) || kept_[0].step[k] == 0);
    }
    // A large result that is not written in place goes past the caches.
    for (int o = 0; o < outputs_; ++o) {
      streams_[o] = code_.outputs[static_cast<std::size_t>(o)].kind == RowOutput::Kind::Row &&
                    rows_ * length_ * size_bytes(stored_[o]) >= kStreamBytes;
      for (int k = outputs_; k < operand_count(); ++k) streams_[o] = streams_[o] && base_[k] != base_[o];
    }
  }
  // By rows: the inner axis is dense or repeats, in all that the output reads, and nothing is converted.
  bool is_plain(int o) const {
    const RowCode::Output& code = code_.outputs[static_cast<std::size_t>(o)];
    bool is_plain = chunks_ >= kShares && !streams_[o] && code_.keeps < 0 && reduced_.size() >= 1 &&
                    reduced_.size() <= 2 && reduced_[0].step[o] == size_bytes(stored_[o]);
    for (int k = outputs_; is_plain && k < operand_count(); ++k) {
      const std::int64_t step = reduced_[0].step[k];
      is_plain = (code.reads >> (k - outputs_) & 1) == 0 ||
                 (stored_[k] == wanted(k) && (step == 0 || step == size_bytes(stored_[k])));
    }
    return is_plain;
  }
  // By columns: each row of them begins where the one before ends.
  bool follows(int k) const {
    const std::int64_t width = size_bytes(stored_[k]);
    return kept_[0].step[k] == width && reduced_[0].step[k] == kept_[0].size * width;
  }
  bool has_row_output() const {
    return std::any_of(code_.outputs.begin(), code_.outputs.end(),
                       [](const RowCode::Output& o) { return o.kind == RowOutput::Kind::Row; });
  }
  std::int64_t stored_width(int k) const { return size_bytes(stored_[k]); }
  DType wanted(int k) const { return code_.inputs[k - outputs_]; }

  // Rows that are folded together, and the memory for it. Arrays have one value for each row.
  class Chunk {
   public:
    explicit Chunk(const RowRun& run) : run_(run) {
      const std::int64_t width = run.chunk_width_, bytes = run.width_;
      partial_.resize(static_cast<std::size_t>(std::max<std::int64_t>(1, run.blocks_) * width * bytes));
      values_.resize(run.code_.folds.size() * static_cast<std::size_t>(width * bytes));
      results_.resize(static_cast<std::size_t>(width) * 8);
      rows_.resize(static_cast<std::size_t>(width * run.operand_count()));
      const std::int64_t kept_bytes = width * run.length_ * bytes;
      if (run.code_.keeps >= 0 && kept_bytes <= kMostKeptBytes)
        kept_.resize(static_cast<std::size_t>(kept_bytes));
    }

    void run(std::int64_t number) {
      place(number);
      for (std::size_t f = 0; f < run_.code_.folds.size(); ++f) fold(f);
      for (int o = 0; o < run_.outputs_; ++o) write(o);
    }

   private:
    // Room of one thread for operands that are not dense, or of another dtype.
    struct Room {
      alignas(64) char packed[kMaxOperands][kBlock * 8];
      alignas(64) char kept[kBlock * 8];
      alignas(64) char raw[kBlock * 8];
    };
    static Room& room() {
      thread_local const std::unique_ptr<Room> instance = std::make_unique<Room>();
      return *instance;
    }

    void place(std::int64_t number) {
      if (run_.by_columns_) {
        const std::int64_t inside = number % run_.chunks_inside_ * run_.chunk_width_;
        first_ = number / run_.chunks_inside_ * run_.kept_[0].size + inside;
        count_ = std::min(run_.chunk_width_, run_.kept_[0].size - inside);
      } else {
        first_ = number * run_.chunk_width_;
        count_ = std::min(run_.chunk_width_, run_.rows_ - first_);
      }
      find_rows();
    }
    // Where each row of each operand begins: counted up, since to divide for each costs more than a short
    // row.
    void find_rows() {
      const int operands = run_.operand_count();
      SmallVector<std::int64_t, 6> at(run_.kept_.size());
      std::int64_t left = first_;
      for (std::size_t i = 0; i < at.size(); ++i) {
        at[i] = left % run_.kept_[i].size;
        left /= run_.kept_[i].size;
      }
      char** next = rows_.data();
      for (int k = 0; k < operands; ++k) next[k] = run_.base_[k] + offset_of(run_.kept_, k, first_);
      for (std::int64_t w = 1; w < count_; ++w, next += operands) {
        std::copy(next, next + operands, next + operands);
        for (std::size_t i = 0; i < at.size(); ++i) {
          const Axis& axis = run_.kept_[i];
          const bool ends = ++at[i] == axis.size;
          const std::int64_t move = ends ? 1 - axis.size : 1;
          for (int k = 0; k < operands; ++k) next[operands + k] += move * axis.step[k];
          if (!ends) break;
          at[i] = 0;
        }
      }
    }
    char* row(int k, std::int64_t w) const {
      return rows_[static_cast<std::size_t>(w * run_.operand_count() + k)];
    }
    char* value(std::size_t f, std::int64_t w = 0) {
      return values_.data() + (static_cast<std::int64_t>(f) * run_.chunk_width_ + w) * run_.width_;
    }
    // Of block b: by rows the blocks of a row are neighbours, by columns the rows of a block.
    char* partial(std::int64_t b, std::int64_t w = 0) {
      const std::int64_t at = run_.by_columns_ ? b * run_.chunk_width_ + w : w * run_.blocks_ + b;
      return partial_.data() + at * run_.width_;
    }
    const PelScalar* numbers() const { return run_.numbers_.data(); }

    // f(begin, length, number) for each block.
    template <class F>
    void for_blocks(F&& f) {
      const std::int64_t grain = std::max<std::int64_t>(1, kGrain / (kBlock * count_));
      parallel_for(run_.blocks_, grain, [&](std::int64_t begin, std::int64_t end) {
        const DefaultFloatMode mode;
        for (std::int64_t b = begin; b < end; ++b)
          f(b * kBlock, std::min(kBlock, run_.length_ - b * kBlock), b);
        stream_fence();
      });
    }
    // f(row, begin, length, number) for each block, row by row. Several rows are never so few that their
    // blocks would have to be shared out.
    template <class F>
    void for_rows(F&& f) {
      if (count_ == 1) {
        return for_blocks(
            [&](std::int64_t begin, std::int64_t length, std::int64_t b) { f(0, begin, length, b); });
      }
      for (std::int64_t w = 0; w < count_; ++w) {
        for (std::int64_t b = 0; b < run_.blocks_; ++b)
          f(w, b * kBlock, std::min(kBlock, run_.length_ - b * kBlock), b);
      }
    }

    void fold(std::size_t f) {
      const RowCode::Fold& code = run_.code_.folds[f];
      if (code.combine == nullptr) {
        // Nothing is folded.
      } else if (run_.by_columns_) {
        const bool grouped = run_.is_grouped_;
        if (grouped) make_tiles(code.reads, f);
        for_blocks([&](std::int64_t begin, std::int64_t length, std::int64_t b) {
          grouped ? fold_groups(f, begin, length, partial(b)) : fold_columns(f, begin, length, partial(b));
        });
        join_columns(code, value(f));
      } else {
        for_rows([&](std::int64_t w, std::int64_t begin, std::int64_t length, std::int64_t b) {
          fold_row(f, w, begin, length, partial(b, w));
        });
        for (std::int64_t w = 0; w < count_; ++w) join_row(code, w, value(f, w));
      }
      if (code.finish == nullptr) return;
      LoopCall call;
      call.add(value(f), 1);
      for (std::size_t v = 0; v <= f; ++v) call.add(value(v), 1);
      code.finish(count_, call.data, call.strides, numbers());
    }

    void fold_row(std::size_t f, std::int64_t w, std::int64_t begin, std::int64_t length, char* to) {
      LoopCall call;
      if (run_.code_.folds[f].element != nullptr) {
        call.add(to, 1);
        call.add(keep_row(w, begin, length), 1);
        run_.code_.folds[f].fold_values(length, call.data, call.strides, nullptr);
        return;
      }
      call.add(to, 1);
      add_row(call, run_.code_.folds[f].reads, w, begin, length);
      for (std::size_t v = 0; v < f; ++v) call.add(value(v, w), 0);
      run_.code_.folds[f].fold(length, call.data, call.strides, numbers());
    }

    // Where kept elements lie: of all blocks, or of the one at hand.
    char* kept_row(std::int64_t w, std::int64_t begin) {
      return kept_.empty() ? room().kept : kept_.data() + (w * run_.length_ + begin) * run_.width_;
    }
    char* kept_columns(std::int64_t at) {
      return kept_.empty() ? room().kept : kept_.data() + at * run_.chunk_width_ * run_.width_;
    }
    // Computes the elements that rows read again.
    char* keep_row(std::int64_t w, std::int64_t begin, std::int64_t length) {
      const auto f = static_cast<std::size_t>(run_.code_.keeps);
      LoopCall call;
      call.add(kept_row(w, begin), 1);
      add_row(call, run_.code_.folds[f].reads, w, begin, length);
      for (std::size_t v = 0; v < f; ++v) call.add(value(v, w), 0);
      run_.code_.folds[f].element(length, call.data, call.strides, numbers());
      return static_cast<char*>(call.data[0]);
    }
    char* keep_columns(std::int64_t at) {
      const auto f = static_cast<std::size_t>(run_.code_.keeps);
      LoopCall call;
      call.add(kept_columns(at), 1);
      add_columns(call, run_.code_.folds[f].reads, at);
      for (std::size_t v = 0; v < f; ++v) call.add(value(v), 1);
      run_.code_.folds[f].element(count_, call.data, call.strides, numbers());
      return static_cast<char*>(call.data[0]);
    }
    // For a row's formula: kept, or computed again.
    View read_kept_row(std::int64_t w, std::int64_t begin, std::int64_t length) {
      return {kept_.empty() ? keep_row(w, begin, length) : kept_row(w, begin), 1};
    }
    View read_kept_columns(std::int64_t at) {
      return {kept_.empty() ? keep_columns(at) : kept_columns(at), 1};
    }

    // kLanes arrays of running values: the order of every column is that of a row.
    void fold_columns(std::size_t f, std::int64_t begin, std::int64_t length, char* to) {
      const RowCode::Fold& code = run_.code_.folds[f];
      std::vector<char> lanes(static_cast<std::size_t>(std::min(kLanes, length) * count_ * run_.width_));
      const auto lane = [&](std::int64_t l) { return lanes.data() + l * count_ * run_.width_; };
      std::uint64_t initial = code.initial_bits;
      LoopCall call;
      for (std::int64_t r = 0; r < length; ++r) {
        if (r == 0 || !run_.is_direct_ || code.element != nullptr) {
          call.count = 2;
          if (code.element != nullptr) {
            call.add(keep_columns(begin + r), 1);
          } else {
            add_columns(call, code.reads, begin + r);
            for (std::size_t v = 0; v < f; ++v) call.add(value(v), 1);
          }
        } else {
          for (int i = 0; i < run_.code_.input_count; ++i) {
            const std::int64_t step = code.reads >> i & 1 ? run_.reduced_[0].step[run_.outputs_ + i] : 0;
            call.data[2 + i] = static_cast<char*>(call.data[2 + i]) + step;
          }
        }
        if (f == 0 && run_.is_direct_) {
          const std::int64_t ahead = kFetchRows * run_.reduced_[0].step[run_.outputs_];
          fetch(static_cast<char*>(call.data[2]) + ahead, count_ * run_.stored_width(run_.outputs_));
        }
        call.data[0] = call.data[1] = lane(r % kLanes);
        call.strides[0] = call.strides[1] = 1;
        if (r < kLanes) {
          call.data[1] = &initial;
          call.strides[1] = 0;
        }
        if (code.element != nullptr) {
          code.combine(count_, call.data, call.strides, nullptr);
        } else {
          code.accumulate(count_, call.data, call.strides, numbers());
        }
      }
      join_lanes(code, lanes.data(), length, to);
    }
    // Where the columns of neighbouring rows are neighbours, kLanes rows are one call: row r of them is lane
    // r. What is the same for all rows stands there as often as there are rows.
    void make_tiles(std::uint64_t reads, std::size_t values) {
      tiles_.clear();
      // Views into `tiles_` are made when it no longer moves.
      SmallVector<std::int64_t, 8> begins;
      SmallVector<std::int64_t, 8> strides;
      const auto add = [&](const View& view, std::int64_t width) {
        begins.push_back(static_cast<std::int64_t>(tiles_.size()));
        strides.push_back(view.stride);
        const std::int64_t bytes = view.stride == 0 ? width : count_ * width;
        for (std::int64_t i = 0; i < (view.stride == 0 ? 1 : kLanes); ++i)
          tiles_.insert(tiles_.end(), view.data, view.data + bytes);
        tiles_.resize((tiles_.size() + 63) / 64 * 64);
      };
      for (int i = 0; i < run_.code_.input_count; ++i) {
        const int k = run_.outputs_ + i;
        const bool is_tile = (reads >> i & 1) != 0 && !run_.follows(k);
        add(is_tile ? read_columns(k, 0) : View{unread, 0}, size_bytes(run_.wanted(k)));
      }
      for (std::size_t v = 0; v < values; ++v) add({value(v), 1}, run_.width_);
      views_.clear();
      for (std::size_t i = 0; i < begins.size(); ++i)
        views_.push_back({tiles_.data() + begins[i], strides[i]});
    }
    void add_groups(LoopCall& call, std::uint64_t reads, std::int64_t at) const {
      for (std::size_t i = 0; i < views_.size(); ++i) {
        const int k = run_.outputs_ + static_cast<int>(i);
        const bool is_input = static_cast<int>(i) < run_.code_.input_count;
        const bool follows = is_input && (reads >> i & 1) != 0 && run_.follows(k);
        call.add(follows ? View{row(k, 0) + at * run_.reduced_[0].step[k], 1} : views_[i]);
      }
    }
    void fold_groups(std::size_t f, std::int64_t begin, std::int64_t length, char* to) {
      const RowCode::Fold& code = run_.code_.folds[f];
      std::vector<char> lanes(static_cast<std::size_t>(std::min(kLanes, length) * count_ * run_.width_));
      std::uint64_t initial = code.initial_bits;
      for (std::int64_t r = 0; r < length; r += kLanes) {
        LoopCall call;
        call.add(lanes.data(), 1);
        call.add(r == 0 ? View{reinterpret_cast<char*>(&initial), 0} : View{lanes.data(), 1});
        add_groups(call, code.reads, begin + r);
        code.accumulate(std::min(kLanes, length - r) * count_, call.data, call.strides, numbers());
      }
      join_lanes(code, lanes.data(), length, to);
    }

    // Lanes that no element came to hold the initial value, which changes nothing.
    void join_lanes(const RowCode::Fold& code, char* lanes, std::int64_t length, char* to) {
      const std::int64_t bytes = count_ * run_.width_;
      for (std::int64_t half = kLanes / 2; half >= 1; half /= 2) {
        for (std::int64_t l = 0; l < half && l + half < length; ++l) {
          LoopCall call;
          call.add(lanes + l * bytes, 1);
          call.add(lanes + l * bytes, 1);
          call.add(lanes + (l + half) * bytes, 1);
          code.combine(count_, call.data, call.strides, nullptr);
        }
      }
      std::memcpy(to, lanes, static_cast<std::size_t>(bytes));
    }

    // The values of blocks are a sequence of their own.
    void join_row(const RowCode::Fold& code, std::int64_t w, char* to) {
      if (run_.blocks_ == 0) {
        std::memcpy(to, &code.initial_bits, static_cast<std::size_t>(run_.width_));
        return;
      }
      std::vector<char> sequence;
      char* from = partial(0, w);
      for (std::int64_t left = run_.blocks_; left > 1;) {
        const std::int64_t next = (left + kBlock - 1) / kBlock;
        std::vector<char> folded(static_cast<std::size_t>(next * run_.width_));
        for (std::int64_t b = 0; b < next; ++b) {
          LoopCall call;
          call.add(folded.data() + b * run_.width_, 1);
          call.add(from + b * kBlock * run_.width_, 1);
          code.fold_values(std::min(kBlock, left - b * kBlock), call.data, call.strides, nullptr);
        }
        sequence = std::move(folded);
        from = sequence.data();
        left = next;
      }
      std::memcpy(to, from, static_cast<std::size_t>(run_.width_));
    }
    void join_columns(const RowCode::Fold& code, char* to) {
      const std::int64_t bytes = count_ * run_.width_;
      if (run_.blocks_ == 0) {
        for (std::int64_t w = 0; w < count_; ++w)
          std::memcpy(to + w * run_.width_, &code.initial_bits, static_cast<std::size_t>(run_.width_));
        return;
      }
      const std::int64_t step = run_.chunk_width_ * run_.width_;
      std::vector<char> sequence;
      char* from = partial(0);
      std::int64_t from_step = step;
      std::uint64_t initial = code.initial_bits;
      for (std::int64_t left = run_.blocks_; left > 1;) {
        const std::int64_t next = (left + kBlock - 1) / kBlock;
        std::vector<char> folded(static_cast<std::size_t>(next * bytes));
        for (std::int64_t b = 0; b < next; ++b) {
          const std::int64_t length = std::min(kBlock, left - b * kBlock);
          std::vector<char> lanes(static_cast<std::size_t>(std::min(kLanes, length) * bytes));
          for (std::int64_t i = 0; i < length; ++i) {
            char* lane = lanes.data() + i % kLanes * bytes;
            LoopCall call;
            call.add(lane, 1);
            call.add(i < kLanes ? View{reinterpret_cast<char*>(&initial), 0} : View{lane, 1});
            call.add(from + (b * kBlock + i) * from_step, 1);
            code.combine(count_, call.data, call.strides, nullptr);
          }
          join_lanes(code, lanes.data(), length, folded.data() + b * bytes);
        }
        sequence = std::move(folded);
        from = sequence.data();
        from_step = bytes;
        left = next;
      }
      std::memcpy(to, from, static_cast<std::size_t>(bytes));
    }

    // The inputs that a loop reads.
    void add_row(LoopCall& call, std::uint64_t reads, std::int64_t w, std::int64_t begin,
                 std::int64_t length) {
      for (int i = 0; i < run_.code_.input_count; ++i)
        call.add(reads >> i & 1 ? read_row(run_.outputs_ + i, w, begin, length) : View{unread, 0});
    }
    void add_columns(LoopCall& call, std::uint64_t reads, std::int64_t at) {
      for (int i = 0; i < run_.code_.input_count; ++i)
        call.add(reads >> i & 1 ? read_columns(run_.outputs_ + i, at) : View{unread, 0});
    }

    // Elements [begin, begin + length) of row w, for a loop to read.
    View read_row(int k, std::int64_t w, std::int64_t begin, std::int64_t length) {
      const DType stored = run_.stored_[k], wanted = run_.wanted(k);
      char* base = row(k, w);
      if (run_.repeats_[k]) return one(k, base);
      const Axes& axes = run_.reduced_;
      const std::int64_t width = size_bytes(stored);
      if (run_.is_dense_[k]) return in_dtype(k, base + begin * width, length);
      const bool is_run = axes.size() == 1 || begin % axes[0].size + length <= axes[0].size;
      char* from = base + offset_of(axes, k, begin);
      if (is_run && axes[0].step[k] == 0) return one(k, from);
      if (!is_run || axes[0].step[k] != width) {
        char* to = stored == wanted ? room().packed[k] : room().raw;
        std::int64_t inside = begin % axes[0].size;
        for (std::int64_t done = 0; done < length; inside = 0) {
          const std::int64_t run = std::min(axes[0].size - inside, length - done);
          if (done > 0 && axes.size() == 2) {
            from += axes[1].step[k];
          } else {
            from = base + offset_of(axes, k, begin + done - inside);
          }
          gather_run(to + done * width, from + inside * axes[0].step[k], axes[0].step[k], run, width);
          done += run;
        }
        from = to;
      }
      return in_dtype(k, from, length);
    }
    // Element `at` of all rows of the chunk.
    View read_columns(int k, std::int64_t at) {
      const DType stored = run_.stored_[k], wanted = run_.wanted(k);
      const std::int64_t width = size_bytes(stored), step = run_.kept_[0].step[k];
      char* from = row(k, 0) + offset_of(run_.reduced_, k, at);
      if (step == 0) return one(k, from);
      if (step != width) {
        char* to = stored == wanted ? room().packed[k] : room().raw;
        copy_tile({to, 0, width}, {from, 0, step}, 1, count_, width);
        from = to;
      }
      return in_dtype(k, from, count_);
    }
    View one(int k, char* from) {
      if (run_.stored_[k] == run_.wanted(k)) return {from, 0};
      convert_one(room().packed[k], run_.wanted(k), from, run_.stored_[k]);
      return {room().packed[k], 0};
    }
    View in_dtype(int k, char* from, std::int64_t length) {
      if (run_.stored_[k] == run_.wanted(k)) return {from, 1};
      cast_elements(room().packed[k], run_.wanted(k), from, run_.stored_[k], length);
      return {room().packed[k], 1};
    }

    void write(int o) {
      switch (run_.code_.outputs[static_cast<std::size_t>(o)].kind) {
        case RowOutput::Kind::Value:
          return write_values(o);
        case RowOutput::Kind::Row:
          return run_.by_columns_ ? write_columns(o) : write_rows(o);
        case RowOutput::Kind::Index:
          return write_indices(o);
      }
    }
    void write_values(int o) {
      LoopCall call;
      call.add(results_.data(), 1);
      for (std::size_t v = 0; v < run_.code_.folds.size(); ++v) call.add(value(v), 1);
      run_.code_.outputs[static_cast<std::size_t>(o)].function(count_, call.data, call.strides, numbers());
      scatter(o);
    }
    void scatter(int o) {
      const std::int64_t width = size_bytes(run_.stored_[o]);
      for (std::int64_t w = 0; w < count_; ++w)
        std::memcpy(row(o, w), results_.data() + w * width, static_cast<std::size_t>(width));
    }

    // A row is runs of its inner axis, each a call or more: nothing to pack, and little to compute for each.
    void write_plain(int o) {
      const RowCode::Output& code = run_.code_.outputs[static_cast<std::size_t>(o)];
      const Axis& inner = run_.reduced_[0];
      const Axis outer = run_.reduced_.size() > 1 ? run_.reduced_[1] : Axis{1, {}};
      SmallVector<int, kMaxOperands> moving = {o};  // the operand behind each argument
      LoopCall call;
      call.add(nullptr, 1);
      for (int i = 0; i < run_.code_.input_count; ++i) {
        const int k = run_.outputs_ + i;
        const bool is_read = (code.reads >> i & 1) != 0;
        moving.push_back(is_read ? k : -1);
        call.add(unread, is_read && inner.step[k] != 0 ? 1 : 0);
      }
      for (std::size_t v = 0; v < run_.code_.folds.size(); ++v) call.add(nullptr, 0);
      for (std::int64_t w = 0; w < count_; ++w) {
        for (std::size_t v = 0; v < run_.code_.folds.size(); ++v) call.data[moving.size() + v] = value(v, w);
        for (std::int64_t q = 0; q < outer.size; ++q) {
          for (std::int64_t at = 0; at < inner.size; at += kBlock) {
            for (std::size_t i = 0; i < moving.size(); ++i) {
              if (const int k = moving[i]; k >= 0)
                call.data[i] = row(k, w) + q * outer.step[k] + at * inner.step[k];
            }
            code.function(std::min(kBlock, inner.size - at), call.data, call.strides, numbers());
          }
        }
      }
    }
    void write_rows(int o) {
      if (run_.is_plain(o)) return write_plain(o);
      // By runs of the inner axis: there the result is dense, and what repeats along it is one element.
      const Axes& axes = run_.reduced_;
      const bool by_runs = axes.size() > 1 && axes[0].size >= kFewestInRun;
      for_rows([&](std::int64_t w, std::int64_t begin, std::int64_t length, std::int64_t) {
        if (!by_runs) return write_row(o, w, begin, length);
        for (std::int64_t done = 0; done < length;) {
          const std::int64_t at = begin + done;
          const std::int64_t run = std::min(axes[0].size - at % axes[0].size, length - done);
          write_row(o, w, at, run);
          done += run;
        }
      });
    }
    void write_row(int o, std::int64_t w, std::int64_t begin, std::int64_t length) {
      const Axes& axes = run_.reduced_;
      const std::int64_t width = size_bytes(run_.stored_[o]);
      char* base = row(o, w);
      const bool is_dense =
          axes.empty() ||
          ((axes.size() == 1 || begin % axes[0].size + length <= axes[0].size) && axes[0].step[o] == width);
      char* const to = base + offset_of(axes, o, begin);
      const bool is_direct = is_dense && !run_.streams_[o];
      LoopCall call;
      call.add(is_direct ? to : room().packed[o], 1);
      add_row(call, run_.code_.outputs[static_cast<std::size_t>(o)].reads, w, begin, length);
      if (run_.code_.keeps >= 0) call.add(read_kept_row(w, begin, length));
      for (std::size_t v = 0; v < run_.code_.folds.size(); ++v) call.add(value(v, w), 0);
      run_.code_.outputs[static_cast<std::size_t>(o)].function(length, call.data, call.strides, numbers());
      if (is_direct) return;
      if (is_dense) return stream_copy(to, room().packed[o], length * width);
      for (std::int64_t done = 0; done < length;) {
        const std::int64_t at = begin + done;
        const std::int64_t run = std::min(axes[0].size - at % axes[0].size, length - done);
        copy_tile({base + offset_of(axes, o, at), 0, axes[0].step[o]},
                  {room().packed[o] + done * width, 0, width}, 1, run, width);
        done += run;
      }
    }
    void write_columns(int o) {
      const std::int64_t width = size_bytes(run_.stored_[o]), step = run_.kept_[0].step[o];
      const std::int64_t grain = std::max<std::int64_t>(1, kGrain / count_);
      const RowCode::Output& code = run_.code_.outputs[static_cast<std::size_t>(o)];
      const bool grouped = run_.is_grouped_ && run_.follows(o);
      if (grouped) make_tiles(code.reads, run_.code_.folds.size());
      parallel_for(run_.length_, grain, [&](std::int64_t begin, std::int64_t end) {
        const DefaultFloatMode mode;
        for (std::int64_t at = begin; grouped && at < end; at += kLanes) {
          LoopCall call;
          call.add(row(o, 0) + at * run_.reduced_[0].step[o], 1);
          add_groups(call, code.reads, at);
          code.function(std::min(kLanes, end - at) * count_, call.data, call.strides, numbers());
        }
        for (std::int64_t at = begin; !grouped && at < end; ++at) {
          char* to = row(o, 0) + offset_of(run_.reduced_, o, at);
          LoopCall call;
          call.add(step == width ? to : room().packed[o], 1);
          add_columns(call, code.reads, at);
          if (run_.code_.keeps >= 0) call.add(read_kept_columns(at));
          for (std::size_t v = 0; v < run_.code_.folds.size(); ++v) call.add(value(v), 1);
          code.function(count_, call.data, call.strides, numbers());
          if (step != width) copy_tile({to, 0, step}, {room().packed[o], 0, width}, 1, count_, width);
        }
      });
    }

    // Elements of the first input as values, dense.
    const char* read_values(std::int64_t w, std::int64_t begin, std::int64_t length) {
      const int k = run_.outputs_;
      const DType stored = run_.wanted(k), type = run_.code_.value;
      const View elements = read_row(k, w, begin, length);
      if (elements.stride == 1 && stored == type) return elements.data;
      char* to = room().raw;
      if (elements.stride == 1) {
        cast_elements(to, type, elements.data, stored, length);
        return to;
      }
      for (std::int64_t i = 0; i < length; ++i)
        convert_one(to + i * run_.width_, type, elements.data, stored);
      return to;
    }

    // The block that the value came from is read once more.
    void write_indices(int o) {
      with_type(run_.code_.value, [&]<class T>(std::type_identity<T>) {
        using Number = decltype(load_number<T>(nullptr));
        const auto load = [](const char* from) { return load_number<T>(from); };
        const auto same = [](Number a, Number b) { return a == b || (a != a && b != b); };
        for (std::int64_t w = 0; w < count_; ++w) {
          const Number wanted = load(value(0, w));
          std::int64_t b = 0;
          while (b + 1 < run_.blocks_ && !same(load(partial(b, w)), wanted)) ++b;
          const std::int64_t length = std::min(kBlock, run_.length_ - b * kBlock);
          const char* elements = read_values(w, b * kBlock, length);
          std::int64_t i = 0;
          while (i + 1 < length && !same(load(elements + i * run_.width_), wanted)) ++i;
          const std::int64_t index = b * kBlock + i;
          std::memcpy(results_.data() + w * 8, &index, 8);
        }
      });
      scatter(o);
    }

    const RowRun& run_;
    std::int64_t first_ = 0, count_ = 0;  // rows of the chunk
    std::vector<char*> rows_;             // where each begins, operand by operand
    std::vector<char> tiles_;
    SmallVector<View, 8> views_;  // into tiles_: inputs, then values
    std::vector<char> partial_, values_, results_, kept_;
  };

  const RowCode& code_;
  int outputs_;
  std::int64_t width_;  // of a value
  char* base_[kMaxOperands];
  DType stored_[kMaxOperands];
  bool repeats_[kMaxOperands] = {};   // along the row
  bool is_dense_[kMaxOperands] = {};  // along the row, across all of its axes
  bool is_grouped_ = false;           // by columns, many rows can be one call
  bool streams_[kMaxOutputs] = {};
  bool is_direct_ = false;  // by columns, all inputs are read where they are
  Axes reduced_, kept_;
  std::int64_t length_ = 1, rows_ = 1, blocks_ = 1;
  bool by_columns_ =
      false;  // neighbours in memory are of different rows: all rows of a chunk advance together
  std::int64_t chunk_width_ = 1, chunks_ = 1, chunks_inside_ = 1;
  SmallVector<PelScalar, 4> numbers_;
};

}  // namespace

void run_rows(Stream&, const KernelArgs& args) {
  RowRun(*static_cast<const RowCode*>(args.context), args).run();
}

}  // namespace pel::cpu
