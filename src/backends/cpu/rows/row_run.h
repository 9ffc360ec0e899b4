// One call of a row op: RowRun plans the order of its axes, RowRun::Chunk processes a chunk of rows through
// all reductions. rows.h says what it computes. Implemented in rows.cc (planning), row_chunk.cc (inputs of
// loops), row_folds.cc (reductions) and row_outputs.cc (results).
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "pellucid/threads.h"

#include "backends/cpu/elementwise/float_mode.h"
#include "backends/cpu/elementwise/pointwise.h"
#include "backends/cpu/elementwise/stream_store.h"
#include "backends/cpu/grains.h"
#include "backends/cpu/rows/row_arguments.h"
#include "backends/cpu/rows/rows.h"
#include "base/small_vector.h"
#include "base/thread_object.h"

namespace pel::cpu {

inline constexpr std::int64_t kBlock = 1024;  // elements per block of a reduction
inline constexpr std::int64_t kLanes = codegen::Fold::kLanes;
// The rows of a chunk stay in L2 between reductions.
inline constexpr std::int64_t kChunkBytes = 256 << 10;
inline constexpr std::int64_t kMaxRows = 32, kMaxRowsWithoutFolds = 512, kMaxColumns = 512;
// Limit of the saved elements of a chunk; beyond it they are recomputed.
inline constexpr std::int64_t kMaxSavedBytes = 1 << 20;
// Chunks for the threads, if each has enough columns.
inline constexpr std::int64_t kMinTasks = 8, kTasksPerThread = 4, kMinInChunk = 64;
inline constexpr std::int64_t kFetchRows = 8;  // by columns: prefetch distance in rows
// Minimum of adjacent columns for processing by columns.
inline constexpr std::int64_t kMinColumns = 8;
inline constexpr std::int64_t kMaxInGroup = 256;  // columns of rows that are grouped into one call
inline constexpr std::int64_t kLineBytes = 64;    // of a cache line
inline constexpr std::int64_t kMinInRun = 16;     // elements per run of a row that is written run by run

class RowRun {
 public:
  RowRun(const RowCode& code, const KernelArgs& args);

  void run();

 private:
  int operand_count() const { return outputs_ + code_.input_count; }

  void make_axes(const KernelArgs& args);
  // Merges an axis with the one inside it if it is contiguous to it in all operands.
  void merge(Axes& axes, const Axis& axis) const;

  void plan();
  // By rows: whether the inner axis is dense or repeats in all operands of the output, without conversion.
  bool is_plain(int o) const;
  // By columns: whether each row begins where the previous one ends.
  bool follows(int k) const {
    const std::int64_t width = size_bytes(stored_[k]);
    return outer_[0].step[k] == width && reduced_[0].step[k] == outer_[0].size * width;
  }
  std::uint64_t read_by_folds() const;
  bool has_row_output() const;
  std::int64_t stored_width(int k) const { return size_bytes(stored_[k]); }
  DType loop_dtype(int k) const { return code_.inputs[k - outputs_]; }

  // Returns whether a stage writes its elements directly to its output.
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
  bool repeats_[kMaxOperands] = {};    // is constant along the row
  bool is_dense_[kMaxOperands] = {};   // along the row, across all of its axes
  bool is_packed_[kMaxOperands] = {};  // packed once for all reductions
  bool is_grouped_ = false;            // by columns, many rows can be one call
  bool streams_[kMaxOutputs] = {};
  bool is_plain_[kMaxOutputs] = {};  // by rows: all operands are dense along the inner axis
  bool needs_rows_ = true;           // whether the start of each row is needed
  bool is_direct_ = false;           // by columns: all inputs are read in place
  Axes reduced_, outer_;
  std::int64_t length_ = 1, rows_ = 1, blocks_ = 1;
  bool by_columns_ =
      false;  // adjacent elements belong to different rows: all rows of a chunk advance together
  std::int64_t tasks_ = std::max(kMinTasks, kTasksPerThread* thread_count());
  std::int64_t chunk_width_ = 1, chunks_ = 1, chunks_inside_ = 1;
  SmallVector<PelScalar, 4> scalars_;
};

// Zeroed scratch memory of a chunk. The few bytes of a short reduction need no allocation: the five of a
// chunk took a third of the time of a sum of 4 elements.
class ChunkBytes {
 public:
  ChunkBytes() {}  // leaves the array uninitialised
  void allocate(std::int64_t bytes) {
    const auto count = static_cast<std::size_t>(bytes);
    if (count <= sizeof inline_) {
      std::memset(inline_, 0, count);
    } else {
      heap_ = std::make_unique<char[]>(count);
      data_ = heap_.get();
    }
  }
  char* data() { return data_; }
  const char* data() const { return data_; }

 private:
  alignas(64) char inline_[256];
  std::unique_ptr<char[]> heap_;
  char* data_ = inline_;
};

// Rows that are reduced together, and their scratch memory. Arrays have one value per row.
class RowRun::Chunk {
 public:
  explicit Chunk(const RowRun& run) : run_(run) {
    const std::int64_t width = run.chunk_width_, bytes = run.width_;
    partial_.allocate(std::max<std::int64_t>(1, run.blocks_) * width * bytes);
    values_.allocate(static_cast<std::int64_t>(run.code_.folds.size()) * width * bytes);
    results_.allocate(width * 8);
    rows_.allocate((run.by_columns_ ? 1 : width) * run.operand_count() *
                   static_cast<std::int64_t>(sizeof(char*)));
    const std::int64_t saved_bytes = width * run.length_ * bytes;
    if (run.code_.saved_fold >= 0 && saved_bytes <= kMaxSavedBytes)
      saved_.resize(static_cast<std::size_t>(saved_bytes));
    staged_.resize(run.code_.stages.size());
    for (std::size_t i = 0; i < staged_.size(); ++i) {
      if (!run.is_staged_in_place(i))
        staged_[i].resize(
            static_cast<std::size_t>(width * run.length_ * size_bytes(run.code_.stages[i].dtype)));
    }
  }

  void run(std::int64_t number);

 private:
  // Scratch of one thread for operands that are not dense, or have another dtype.
  struct Workspace {
    alignas(64) char packed[kMaxOperands][kBlock * 8];
    alignas(64) char saved[kBlock * 8];
    alignas(64) char raw[kBlock * 8];
    // By columns: the accumulators of a reduction; and a cache line of each row of a result, before it is
    // transposed.
    alignas(64) char lanes[kLanes * kMaxColumns * 8];
    alignas(64) char lines[kMaxColumns * kLineBytes];
  };
  static Workspace& workspace() { return thread_object<Workspace>(); }

  void locate(std::int64_t number);
  // Finds the start of each row of each operand; by columns, of the first one, which the others follow along
  // the first outer axis. Increments positions, because a division per row costs more than a short row.
  void find_rows();
  // Packs short, non-dense rows once if several reductions read them.
  void pack_rows();
  char** row_starts() { return reinterpret_cast<char**>(rows_.data()); }
  char* const* row_starts() const { return reinterpret_cast<char* const*>(rows_.data()); }
  char* row(int k, std::int64_t w) const {
    return run_.by_columns_ ? row_starts()[k] + w * run_.outer_[0].step[k]
                            : row_starts()[w * run_.operand_count() + k];
  }
  char* value(std::size_t f, std::int64_t w = 0) {
    return values_.data() + (static_cast<std::int64_t>(f) * run_.chunk_width_ + w) * run_.width_;
  }
  // Returns the partial result of block b: by rows the blocks of a row are adjacent, by columns the rows of a
  // block.
  char* partial(std::int64_t b, std::int64_t w = 0) {
    const std::int64_t at = run_.by_columns_ ? b * run_.chunk_width_ + w : w * run_.blocks_ + b;
    return partial_.data() + at * run_.width_;
  }
  const PelScalar* scalars() const { return run_.scalars_.data(); }

  // Calls f(begin, length, number) for each block.
  template <class F>
  void for_blocks(F&& f) {
    parallel_for(run_.blocks_, Grain::of(kGrainElements, kBlock * count_),
                 [&](std::int64_t begin, std::int64_t end) {
                   const DefaultFloatMode mode;
                   for (std::int64_t b = begin; b < end; ++b)
                     f(b * kBlock, std::min(kBlock, run_.length_ - b * kBlock), b);
                   stream_fence();
                 });
  }
  // Calls f(row, begin, length, number) for each block, row by row. With several rows, there are enough of
  // them that threads need not split their blocks.
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

  // Returns the address of saved elements: of all blocks, or of the current one.
  char* saved_row(std::int64_t w, std::int64_t begin) {
    return saved_.empty() ? workspace().saved : saved_.data() + (w * run_.length_ + begin) * run_.width_;
  }
  char* saved_columns(std::int64_t at) {
    return saved_.empty() ? workspace().saved : saved_.data() + at * run_.chunk_width_ * run_.width_;
  }
  // Computes and saves elements that rows read again.
  char* save_row(std::int64_t w, std::int64_t begin, std::int64_t length);
  char* save_columns(std::int64_t at);
  // Returns elements for a row formula: saved, or recomputed.
  View read_saved_row(std::int64_t w, std::int64_t begin, std::int64_t length) {
    return {saved_.empty() ? save_row(w, begin, length) : saved_row(w, begin), 1};
  }
  View read_saved_columns(std::int64_t at) {
    return {saved_.empty() ? save_columns(at) : saved_columns(at), 1};
  }

  // Keeps kLanes arrays of accumulators: each column has the order of a row.
  void fold_columns(std::size_t f, std::int64_t begin, std::int64_t length, char* to);
  // If the columns of adjacent rows are adjacent, kLanes rows form one call: row r of them is lane
  // r. Inputs that are the same for all rows are replicated per row.
  void make_tiles(std::uint64_t reads, std::size_t values);
  void add_groups(LoopCall& call, std::uint64_t reads, std::int64_t at) const;
  void fold_groups(std::size_t f, std::int64_t begin, std::int64_t length, char* to);

  // Lanes without elements hold the initial value, which is neutral.
  void combine_lanes(const RowCode::Fold& code, char* lanes, std::int64_t length, char* to);

  // The values of blocks are reduced as another sequence.
  void combine_row(const RowCode::Fold& code, std::int64_t w, char* to);
  void combine_columns(const RowCode::Fold& code, char* to);

  // Adds the inputs that a loop reads.
  void add_row(LoopCall& call, std::uint64_t reads, std::int64_t w, std::int64_t begin, std::int64_t length);
  void add_columns(LoopCall& call, std::uint64_t reads, std::int64_t at);

  // Copies elements [begin, begin + length) of a row to dense memory.
  void gather_row(int k, char* base, std::int64_t begin, std::int64_t length, char* to) const;
  // Returns elements [begin, begin + length) of row w as an input of a loop.
  View read_row(int k, std::int64_t w, std::int64_t begin, std::int64_t length);
  // Returns element `at` of all rows of the chunk.
  View read_columns(int k, std::int64_t at);
  View one(int k, char* from);
  View in_dtype(int k, char* from, std::int64_t length);

  void write(int o);
  void write_values(int o);
  void scatter(int o);

  // Writes a row as runs of its inner axis, without packing. If only the first input is dense along them, all
  // runs of a row are one call, or all rows that are one run each.
  void write_plain(int o);
  void write_rows(int o);
  void write_row(int o, std::int64_t w, std::int64_t begin, std::int64_t length);
  // Returns whether elements are in one run of the inner axis, or dense.
  bool is_dense_run(int o, std::int64_t begin, std::int64_t length) const;
  // Stores dense elements to the output.
  void store_row(int o, std::int64_t w, std::int64_t begin, std::int64_t length, char* from);
  void write_columns(int o);
  // Computes element `at` of all rows, dense, to `to`.
  void compute_columns(int o, std::int64_t at, char* to);

  // Returns elements of the first input as dense values.
  const char* read_values(std::int64_t w, std::int64_t begin, std::int64_t length);

  // Reads the block that contains the value once more, to find the index.
  void write_indices(int o);

  const RowRun& run_;
  std::int64_t first_ = 0, count_ = 0;  // rows of the chunk
  ChunkBytes rows_;                     // addresses: the start of each row, operand by operand
  std::vector<char> tiles_, packed_;
  char* packed_begin_[kMaxOperands];
  SmallVector<View, 8> views_;  // into tiles_: inputs, then values
  ChunkBytes partial_, values_, results_;
  std::vector<char> saved_;
  std::vector<std::vector<char>> staged_;
};

}  // namespace pel::cpu
