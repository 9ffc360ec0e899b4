// One call of an op over rows: how its axes are walked, and the rows that are taken through all folds
// together. rows.h says what it computes.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "backends/cpu/elementwise/float_mode.h"
#include "backends/cpu/elementwise/stream_store.h"
#include "backends/cpu/rows/row_arguments.h"
#include "backends/cpu/rows/rows.h"
#include "base/small_vector.h"
#include "base/thread_pool.h"

namespace pel::cpu {

inline constexpr std::int64_t kBlock = 1024;  // elements that are folded at once
inline constexpr std::int64_t kLanes = codegen::Fold::kLanes;
// Rows that are taken through all folds together stay in L2 between them.
inline constexpr std::int64_t kChunkBytes = 256 << 10;
inline constexpr std::int64_t kMostRows = 32, kMostWithoutFolds = 512, kMostColumns = 512;
// Kept elements of a chunk; more are computed again.
inline constexpr std::int64_t kMostKeptBytes = 1 << 20;
// Chunks that threads share out, where each has enough columns.
inline constexpr std::int64_t kShares = 8, kFewestInChunk = 256;
inline constexpr std::int64_t kFetchRows = 8;  // by columns, rows that are fetched ahead
// Neighbouring columns that are worth walking across rows for.
inline constexpr std::int64_t kFewestColumns = 8;
inline constexpr std::int64_t kMostInGroup = 256;  // columns of rows that are taken several at once
inline constexpr std::int64_t kGrain = 16 << 10;   // elements worth a thread
inline constexpr std::int64_t kFewestInRun = 16;   // of a row that is written run by run

class RowRun {
 public:
  RowRun(const RowCode& code, const KernelArgs& args);

  void run();

 private:
  int operand_count() const { return outputs_ + code_.input_count; }

  void make_axes(const KernelArgs& args);
  // An axis that continues the one inside it is one with it, where no operand can tell.
  void join(Axes& axes, const Axis& axis) const;

  void plan();
  // By rows: the inner axis is dense or repeats, in all that the output reads, and nothing is converted.
  bool is_plain(int o) const;
  // By columns: each row of them begins where the one before ends.
  bool follows(int k) const {
    const std::int64_t width = size_bytes(stored_[k]);
    return kept_[0].step[k] == width && reduced_[0].step[k] == kept_[0].size * width;
  }
  std::uint64_t read_by_folds() const;
  bool has_row_output() const;
  std::int64_t stored_width(int k) const { return size_bytes(stored_[k]); }
  DType wanted(int k) const { return code_.inputs[k - outputs_]; }

  // Whether the elements of a stage are computed where the output is that they are.
  bool is_staged_in_place(std::size_t stage) const {
    const int o = code_.stages[stage].output;
    return o >= 0 && is_dense_[o] && !streams_[o];
  }

  class Chunk;

  const RowCode& code_;
  int outputs_;
  std::int64_t width_;  // of a value
  char* base_[kMaxOperands];
  DType stored_[kMaxOperands];
  bool repeats_[kMaxOperands] = {};    // along the row
  bool is_dense_[kMaxOperands] = {};   // along the row, across all of its axes
  bool is_packed_[kMaxOperands] = {};  // once for all folds
  bool is_grouped_ = false;            // by columns, many rows can be one call
  bool streams_[kMaxOutputs] = {};
  bool is_plain_[kMaxOutputs] = {};  // by rows, all that it reads and writes is dense along the inner axis
  bool needs_rows_ = true;           // where each begins
  bool is_direct_ = false;           // by columns, all inputs are read where they are
  Axes reduced_, kept_;
  std::int64_t length_ = 1, rows_ = 1, blocks_ = 1;
  bool by_columns_ =
      false;  // neighbours in memory are of different rows: all rows of a chunk advance together
  std::int64_t chunk_width_ = 1, chunks_ = 1, chunks_inside_ = 1;
  SmallVector<PelScalar, 4> numbers_;
};

// Rows that are folded together, and the memory for it. Arrays have one value for each row.
class RowRun::Chunk {
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
    staged_.resize(run.code_.stages.size());
    for (std::size_t i = 0; i < staged_.size(); ++i) {
      if (!run.is_staged_in_place(i))
        staged_[i].resize(
            static_cast<std::size_t>(width * run.length_ * size_bytes(run.code_.stages[i].dtype)));
    }
  }

  void run(std::int64_t number);

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

  void place(std::int64_t number);
  // Where each row of each operand begins: counted up, since to divide for each costs more than a short
  // row.
  void find_rows();
  // Short rows that are read by several folds and are not dense, once for all of them.
  void pack_rows();
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

  void run_stages(std::size_t folds);
  char* staged_row(std::size_t stage, std::int64_t w, std::int64_t begin);
  void store_staged(std::size_t stage, std::int64_t w, std::int64_t begin, std::int64_t length);
  void add_stages(LoopCall& call, std::uint64_t reads, std::int64_t w, std::int64_t begin);

  void fold(std::size_t f);

  void fold_row(std::size_t f, std::int64_t w, std::int64_t begin, std::int64_t length, char* to);

  // Where kept elements lie: of all blocks, or of the one at hand.
  char* kept_row(std::int64_t w, std::int64_t begin) {
    return kept_.empty() ? room().kept : kept_.data() + (w * run_.length_ + begin) * run_.width_;
  }
  char* kept_columns(std::int64_t at) {
    return kept_.empty() ? room().kept : kept_.data() + at * run_.chunk_width_ * run_.width_;
  }
  // Computes the elements that rows read again.
  char* keep_row(std::int64_t w, std::int64_t begin, std::int64_t length);
  char* keep_columns(std::int64_t at);
  // For a row's formula: kept, or computed again.
  View read_kept_row(std::int64_t w, std::int64_t begin, std::int64_t length) {
    return {kept_.empty() ? keep_row(w, begin, length) : kept_row(w, begin), 1};
  }
  View read_kept_columns(std::int64_t at) { return {kept_.empty() ? keep_columns(at) : kept_columns(at), 1}; }

  // kLanes arrays of running values: the order of every column is that of a row.
  void fold_columns(std::size_t f, std::int64_t begin, std::int64_t length, char* to);
  // Where the columns of neighbouring rows are neighbours, kLanes rows are one call: row r of them is lane
  // r. What is the same for all rows stands there as often as there are rows.
  void make_tiles(std::uint64_t reads, std::size_t values);
  void add_groups(LoopCall& call, std::uint64_t reads, std::int64_t at) const;
  void fold_groups(std::size_t f, std::int64_t begin, std::int64_t length, char* to);

  // Lanes that no element came to hold the initial value, which changes nothing.
  void join_lanes(const RowCode::Fold& code, char* lanes, std::int64_t length, char* to);

  // The values of blocks are a sequence of their own.
  void join_row(const RowCode::Fold& code, std::int64_t w, char* to);
  void join_columns(const RowCode::Fold& code, char* to);

  // The inputs that a loop reads.
  void add_row(LoopCall& call, std::uint64_t reads, std::int64_t w, std::int64_t begin, std::int64_t length);
  void add_columns(LoopCall& call, std::uint64_t reads, std::int64_t at);

  // Elements [begin, begin + length) of a row, to dense ones.
  void gather_row(int k, char* base, std::int64_t begin, std::int64_t length, char* to) const;
  // Elements [begin, begin + length) of row w, for a loop to read.
  View read_row(int k, std::int64_t w, std::int64_t begin, std::int64_t length);
  // Element `at` of all rows of the chunk.
  View read_columns(int k, std::int64_t at);
  View one(int k, char* from);
  View in_dtype(int k, char* from, std::int64_t length);

  void write(int o);
  void write_values(int o);
  void scatter(int o);

  // A row is runs of its inner axis: nothing to pack, and little to compute for each. Where only the first
  // input is dense along them, all runs of a row are one call, or all rows that are one run each.
  void write_plain(int o);
  void write_rows(int o);
  void write_row(int o, std::int64_t w, std::int64_t begin, std::int64_t length);
  // Elements that lie in one run of the inner axis, or dense.
  bool is_dense_run(int o, std::int64_t begin, std::int64_t length) const;
  // Dense elements, to where they belong.
  void store_row(int o, std::int64_t w, std::int64_t begin, std::int64_t length, char* from);
  void write_columns(int o);

  // Elements of the first input as values, dense.
  const char* read_values(std::int64_t w, std::int64_t begin, std::int64_t length);

  // The block that the value came from is read once more.
  void write_indices(int o);

  const RowRun& run_;
  std::int64_t first_ = 0, count_ = 0;  // rows of the chunk
  std::vector<char*> rows_;             // where each begins, operand by operand
  std::vector<char> tiles_, packed_;
  char* packed_begin_[kMaxOperands];
  SmallVector<View, 8> views_;  // into tiles_: inputs, then values
  std::vector<char> partial_, values_, results_, kept_;
  std::vector<std::vector<char>> staged_;
};

// Dense elements as another dtype.
void cast_elements(char* to, DType to_type, char* from, DType from_type, std::int64_t count);

}  // namespace pel::cpu
