// Drives elementwise loops. run_any_loop first tries a dense call (DenseCall, run_dense, run_streaming for
// large results), then the loop nest over strided operands (StridedRun): row by row, in tiles if operands run
// across the rows, or gathered if rows are short.
#include "backends/cpu/elementwise/pointwise.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>

#include "backends/cpu/elementwise/float_mode.h"
#include "backends/cpu/elementwise/stream_store.h"
#include "backends/cpu/elementwise/strided_loop.h"
#include "backends/cpu/elementwise/tile.h"
#include "base/check.h"
#include "base/thread_pool.h"
#include "tensor/convert.h"

namespace pel::cpu {
namespace {

// The loop of one op has one output and few inputs, known at compile time; a fused loop has as many as its
// code says.
struct OneOp {
  static constexpr int kMaxOperands = 6;
  static int outputs(const LoopCode&) { return 1; }
};
struct Fused {
  static constexpr int kMaxOperands = kMaxLoopOperands;
  static int outputs(const LoopCode& code) { return code.output_count; }
};
// One operand's share of L1 while a block is computed.
constexpr std::int64_t kBlockBytes = 16 << 10;
// Small, so that loads and streaming stores stay close to each other, with inputs prefetched a page ahead: an
// add takes 1.04 of the time of a loop that streams its own results. 1 KiB without prefetching is 1.12, 8 KiB
// is 1.25.
constexpr std::int64_t kStreamBlockBytes = 512;
// Rows shorter than this are gathered, several to a block.
constexpr std::int64_t kShortRow = 64;

std::int64_t bytes_of(std::uint8_t dtype) { return size_bytes(static_cast<DType>(dtype)); }

void check_status(std::uint32_t status) {
  PEL_CHECK((status & codegen::kDividedByZero) == 0, ValueError, "integer division by zero");
}

// The operands of the loop if all are dense or single elements.
template <class Kind>
struct DenseCall {
  void* data[Kind::kMaxOperands];
  std::int64_t strides[Kind::kMaxOperands];
  std::uint64_t converted[Kind::kMaxOperands];  // converted single elements
};

bool same_sizes(const Operand& a, const Operand& b) {
  if (a.rank != b.rank) return false;
  for (int i = 0; i < a.rank; ++i) {
    if (a.sizes[i] != b.sizes[i]) return false;
  }
  return true;
}
bool is_single(const Operand& a) {
  for (int i = 0; i < a.rank; ++i) {
    if (a.sizes[i] != 1) return false;
  }
  return true;
}

template <class Kind>
bool make_dense_call(const LoopCode& code, const KernelArgs& args, DenseCall<Kind>& call) {
  const Operand& out = output(args, 0);
  const int outputs = Kind::outputs(code);
  for (int i = 0; i < outputs; ++i) {
    const Operand& each = output(args, i);
    if (static_cast<DType>(each.dtype) != code.operands[i] || !is_row_major(each)) return false;
    call.data[i] = each.data;
    call.strides[i] = 1;
  }
  for (int i = outputs; i < outputs + code.input_count; ++i) {
    const Operand& in = args.operands[i];
    const auto dtype = static_cast<DType>(in.dtype);
    call.data[i] = in.data;
    if (dtype == code.operands[i] && same_sizes(in, out) && is_row_major(in)) {
      call.strides[i] = 1;
    } else if (is_single(in)) {
      call.strides[i] = 0;
      if (dtype != code.operands[i]) {
        convert_one(&call.converted[i], code.operands[i], in.data, dtype);
        call.data[i] = &call.converted[i];
      }
    } else {
      return false;
    }
  }
  return true;
}

template <class Kind>
std::uint32_t run_range(const LoopCode& code, const DenseCall<Kind>& call, const PelScalar* scalars,
                        std::int64_t begin, std::int64_t end) {
  void* data[Kind::kMaxOperands];
  for (int i = 0; i < Kind::outputs(code) + code.input_count; ++i) {
    data[i] = static_cast<char*>(call.data[i]) + begin * call.strides[i] * size_bytes(code.operands[i]);
  }
  return code.function(end - begin, data, call.strides, scalars);
}

// A large result that is not read soon bypasses the caches: it is computed in L1 and stored with non-temporal
// stores, which saves reading each line before it is overwritten.
template <class Kind>
std::uint32_t run_streaming(const LoopCode& code, const DenseCall<Kind>& call, const PelScalar* scalars,
                            std::int64_t begin, std::int64_t end) {
  const int outputs = Kind::outputs(code);
  alignas(
      64) char blocks[Kind::kMaxOperands == OneOp::kMaxOperands ? 1 : Kind::kMaxOperands][kStreamBlockBytes];
  std::int64_t widest = 1;
  for (int i = 0; i < outputs; ++i) widest = std::max(widest, size_bytes(code.operands[i]));
  const std::int64_t per_block = kStreamBlockBytes / widest;
  DenseCall<Kind> part = call;
  std::uint32_t status = 0;
  for (std::int64_t at = begin; at < end; at += per_block) {
    const std::int64_t count = std::min(per_block, end - at);
    for (int i = outputs; i < outputs + code.input_count; ++i) {
      const std::int64_t step = call.strides[i] * size_bytes(code.operands[i]);
      char* data = static_cast<char*>(call.data[i]) + at * step;
      part.data[i] = data;
      fetch(data + kFetchAhead, count * step);
    }
    for (int i = 0; i < outputs; ++i) part.data[i] = blocks[i];
    status |= code.function(count, part.data, part.strides, scalars);
    for (int i = 0; i < outputs; ++i) {
      const std::int64_t size = size_bytes(code.operands[i]);
      stream_copy(static_cast<char*>(call.data[i]) + at * size, blocks[i], count * size);
    }
  }
  stream_fence();
  return status;
}

template <class Kind>
bool streams(const LoopCode& code, const DenseCall<Kind>& call, std::int64_t count) {
  if (count * size_bytes(code.operands[0]) < kStreamBytes) return false;
  const int outputs = Kind::outputs(code);
  for (int i = outputs; i < outputs + code.input_count; ++i) {
    for (int k = 0; k < outputs; ++k)
      if (call.data[i] == call.data[k]) return false;  // in place: the lines are read anyway
  }
  return true;
}

template <class Kind>
void run_dense(const LoopCode& code, const DenseCall<Kind>& call, const PelScalar* scalars,
               std::int64_t count) {
  const bool streamed = streams(code, call, count);
  if (count < 2 * code.grain && !streamed) [[likely]]
    return check_status(code.function(count, call.data, call.strides, scalars));
  const auto run = streamed ? run_streaming<Kind> : run_range<Kind>;
  std::atomic<std::uint32_t> status = 0;
  parallel_for(count, code.grain, [&](std::int64_t begin, std::int64_t end) {
    const DefaultFloatMode mode;
    status.fetch_or(run(code, call, scalars, begin, end), std::memory_order_relaxed);
  });
  check_status(status.load());
}

// The loop nest over strided operands: axes with the innermost first, steps in bytes.
template <class Kind>
class StridedRun {
 public:
  StridedRun(const LoopCode& code, const KernelArgs& args) : code_(code), scalars_(args.scalars) {
    operand_count_ = code.input_count + outputs();
    for (int i = 0; i < operand_count_; ++i) {
      const Operand& operand = args.operands[i];
      base_[i] = static_cast<char*>(operand.data);
      stored_[i] = static_cast<DType>(operand.dtype);
      loop_dtype_[i] = code.operands[i];
    }
    make_axes(args);
    plan();
  }

  void run() {
    const std::int64_t tiles = outer_count_ * row_tiles_ * column_tiles_;
    std::atomic<std::uint32_t> status = 0;
    parallel_for(tiles, Grain::of(code_.grain, tile_rows_ * tile_columns_),
                 [&](std::int64_t begin, std::int64_t end) {
                   const DefaultFloatMode mode;
                   std::uint32_t local_status = 0;
                   for (std::int64_t tile = begin; tile < end; ++tile)
                     local_status |= gathers_ ? run_gathered(tile) : run_tile(tile);
                   status.fetch_or(local_status, std::memory_order_relaxed);
                 });
    check_status(status.load());
  }

 private:
  static constexpr int kMaxOperands = Kind::kMaxOperands;
  int outputs() const { return Kind::outputs(code_); }
  struct Axis {
    std::int64_t size;
    std::int64_t step[kMaxOperands];
  };
  struct Pointers {
    char* data[kMaxOperands];
  };

  void make_axes(const KernelArgs& args) {
    const Operand& out = output(args, 0);
    for (int i = out.rank; i-- > 0;) {
      if (out.sizes[i] == 1) continue;
      Axis axis{out.sizes[i], {}};
      for (int k = 0; k < operand_count_; ++k) {
        const Operand& operand = args.operands[k];
        const int own = i - (out.rank - operand.rank);
        if (own >= 0 && operand.sizes[own] != 1)
          axis.step[k] = operand.strides[own] * bytes_of(operand.dtype);
      }
      axes_.push_back(axis);
    }
    std::sort(axes_.begin(), axes_.end(), [this](const Axis& a, const Axis& b) {
      for (int k = 0; k < operand_count_; ++k) {
        if (a.step[k] != b.step[k]) return std::abs(a.step[k]) < std::abs(b.step[k]);
      }
      return false;
    });
    SmallVector<Axis, 8> joined;
    for (const Axis& axis : axes_) {
      if (!joined.empty() && continues(joined.back(), axis)) {
        joined.back().size *= axis.size;
      } else {
        joined.push_back(axis);
      }
    }
    while (joined.size() < 2) joined.push_back({1, {}});
    axes_ = joined;
  }
  bool continues(const Axis& inner, const Axis& outer) const {
    for (int k = 0; k < operand_count_; ++k) {
      if (outer.step[k] != inner.size * inner.step[k]) return false;
    }
    return true;
  }

  bool is_direct(int k) const {
    const std::int64_t step = axes_[0].step[k];
    return stored_[k] == loop_dtype_[k] &&
           (step == size_bytes(loop_dtype_[k]) || (step == 0 && k >= outputs()));
  }
  bool runs_across(int k) const {
    return axes_[1].size > 1 && std::abs(axes_[1].step[k]) < std::abs(axes_[0].step[k]);
  }

  void plan() {
    std::int64_t widest = 1;
    bool any_across = false, all_direct = true;
    for (int k = 0; k < operand_count_; ++k) {
      widest = std::max({widest, size_bytes(stored_[k]), size_bytes(loop_dtype_[k])});
      any_across = any_across || (!is_direct(k) && runs_across(k));
      all_direct = all_direct && is_direct(k);
    }
    const std::int64_t block = kBlockBytes / widest;
    gathers_ = axes_[0].size < kShortRow && axes_[1].size > 1;
    if (gathers_) {
      total_ = 1;
      for (const Axis& axis : axes_) total_ *= axis.size;
      tile_rows_ = 1;
      tile_columns_ = block / 4;
      row_tiles_ = 1;
      column_tiles_ = (total_ + tile_columns_ - 1) / tile_columns_;
      return;
    }
    // Operands that run across the rows are read for one cache line of rows at a time.
    tile_rows_ = any_across ? std::min<std::int64_t>(axes_[1].size, 16) : 1;
    tile_columns_ =
        std::min(axes_[0].size, all_direct ? std::int64_t{1} << 16 : block / 16 * 16 / tile_rows_);
    row_tiles_ = (axes_[1].size + tile_rows_ - 1) / tile_rows_;
    column_tiles_ = (axes_[0].size + tile_columns_ - 1) / tile_columns_;
    for (std::size_t a = 2; a < axes_.size(); ++a) outer_count_ *= axes_[a].size;
  }

  Pointers pointers_of(std::int64_t outer, std::int64_t row, std::int64_t column) const {
    Pointers pointers;
    for (int k = 0; k < operand_count_; ++k)
      pointers.data[k] = base_[k] + row * axes_[1].step[k] + column * axes_[0].step[k];
    for (std::size_t a = 2; a < axes_.size(); ++a) {
      const std::int64_t at = outer % axes_[a].size;
      outer /= axes_[a].size;
      for (int k = 0; k < operand_count_; ++k) pointers.data[k] += at * axes_[a].step[k];
    }
    return pointers;
  }

  std::uint32_t run_tile(std::int64_t number) {
    const std::int64_t column = number % column_tiles_ * tile_columns_;
    const std::int64_t row = number / column_tiles_ % row_tiles_ * tile_rows_;
    const std::int64_t rows = std::min(tile_rows_, axes_[1].size - row);
    const std::int64_t columns = std::min(tile_columns_, axes_[0].size - column);
    const Pointers pointers = pointers_of(number / column_tiles_ / row_tiles_, row, column);

    alignas(64) char packed[kMaxOperands][kBlockBytes];
    // How the loop reads each operand: a row's first element, the step to the next row, and stride 1 or 0.
    Tile tile[kMaxOperands];
    std::int64_t strides[kMaxOperands];
    for (int k = 0; k < operand_count_; ++k) {
      strides[k] = axes_[0].step[k] == 0 && k >= outputs() ? 0 : 1;
      if (is_direct(k)) {
        tile[k] = {pointers.data[k], axes_[1].step[k], 0};
        continue;
      }
      const std::int64_t width = strides[k] == 0 ? 1 : columns;
      tile[k] = {packed[k], width * size_bytes(loop_dtype_[k]), size_bytes(loop_dtype_[k])};
      if (k >= outputs()) read(k, tile[k], pointers.data[k], rows, width);
    }
    std::uint32_t status = 0;
    for (std::int64_t r = 0; r < rows; ++r) {
      void* data[kMaxOperands];
      for (int k = 0; k < operand_count_; ++k) data[k] = tile[k].data + r * tile[k].row_step;
      status |= code_.function(columns, data, strides, scalars_);
    }
    for (int k = 0; k < outputs(); ++k)
      if (!is_direct(k)) write(k, tile[k], pointers.data[k], rows, columns);
    return status;
  }

  // Packs and converts an input: dense rows of the loop's dtype.
  void read(int k, const Tile& to, char* from, std::int64_t rows, std::int64_t columns) {
    const std::int64_t width = size_bytes(stored_[k]);
    Tile source = {from, axes_[1].step[k], axes_[0].step[k]};
    if (stored_[k] == loop_dtype_[k]) return copy_tile(to, source, rows, columns, width);
    alignas(64) char raw[kBlockBytes];
    if (source.column_step != width || (columns == 1 && rows > 1)) {
      copy_tile({raw, columns * width, width}, source, rows, columns, width);
      return cast_elements(to.data, loop_dtype_[k], raw, stored_[k], rows * columns);
    }
    for (std::int64_t r = 0; r < rows; ++r)
      cast_elements(to.data + r * to.row_step, loop_dtype_[k], from + r * source.row_step, stored_[k],
                    columns);
  }
  void write(int k, const Tile& from, char* to, std::int64_t rows, std::int64_t columns) {
    const std::int64_t width = size_bytes(stored_[k]);
    const Tile target = {to, axes_[1].step[k], axes_[0].step[k]};
    if (stored_[k] == loop_dtype_[k]) return copy_tile(target, from, rows, columns, width);
    alignas(64) char raw[kBlockBytes];
    if (target.column_step == width) {
      for (std::int64_t r = 0; r < rows; ++r)
        cast_elements(to + r * target.row_step, stored_[k], from.data + r * from.row_step, loop_dtype_[k],
                      columns);
      return;
    }
    cast_elements(raw, stored_[k], from.data, loop_dtype_[k], rows * columns);
    copy_tile(target, {raw, columns * width, width}, rows, columns, width);
  }

  // Calls f(row's first element, elements of the row, elements before it) for `count` elements from `begin`
  // on, in the order of the axes.
  template <class F>
  void for_each_row(int k, std::int64_t begin, std::int64_t count, F&& f) const {
    SmallVector<std::int64_t, 8> index(axes_.size());
    char* row = base_[k];
    std::int64_t rest = begin;
    for (std::size_t a = 0; a < axes_.size(); ++a) {
      index[a] = rest % axes_[a].size;
      rest /= axes_[a].size;
      row += index[a] * axes_[a].step[k];
    }
    for (std::int64_t done = 0; done < count;) {
      const std::int64_t length = std::min(axes_[0].size - index[0], count - done);
      f(row, length, done);
      done += length;
      row += length * axes_[0].step[k];
      index[0] += length;
      for (std::size_t a = 0; a < axes_.size() && index[a] == axes_[a].size; ++a) {
        row -= axes_[a].size * axes_[a].step[k];
        index[a] = 0;
        if (a + 1 == axes_.size()) break;
        ++index[a + 1];
        row += axes_[a + 1].step[k];
      }
    }
  }

  // Handles many short rows: gathers all operands of a block, whatever their layout.
  std::uint32_t run_gathered(std::int64_t number) {
    const std::int64_t begin = number * tile_columns_;
    const std::int64_t count = std::min(tile_columns_, total_ - begin);
    alignas(64) char packed[kMaxOperands][kBlockBytes];
    alignas(64) char raw[kBlockBytes];
    void* data[kMaxOperands];
    std::int64_t strides[kMaxOperands];
    for (int k = 0; k < operand_count_; ++k) {
      data[k] = packed[k];
      strides[k] = 1;
      if (k < outputs()) continue;
      const std::int64_t width = size_bytes(stored_[k]), step = axes_[0].step[k];
      char* to = stored_[k] == loop_dtype_[k] ? packed[k] : raw;
      for_each_row(k, begin, count, [&](char* row, std::int64_t length, std::int64_t done) {
        copy_tile({to + done * width, 0, width}, {row, 0, step}, 1, length, width);
      });
      if (to == raw) cast_elements(packed[k], loop_dtype_[k], raw, stored_[k], count);
    }
    const std::uint32_t status = code_.function(count, data, strides, scalars_);
    for (int k = 0; k < outputs(); ++k) {
      char* from = packed[k];
      if (stored_[k] != loop_dtype_[k]) {
        cast_elements(raw, stored_[k], packed[k], loop_dtype_[k], count);
        from = raw;
      }
      const std::int64_t width = size_bytes(stored_[k]), step = axes_[0].step[k];
      for_each_row(k, begin, count, [&](char* row, std::int64_t length, std::int64_t done) {
        copy_tile({row, 0, step}, {from + done * width, 0, width}, 1, length, width);
      });
    }
    return status;
  }

  const LoopCode& code_;
  const PelScalar* scalars_;
  int operand_count_ = 0;
  char* base_[kMaxOperands];
  DType stored_[kMaxOperands], loop_dtype_[kMaxOperands];
  SmallVector<Axis, 8> axes_;
  bool gathers_ = false;
  std::int64_t total_ = 0, outer_count_ = 1, row_tiles_ = 1, column_tiles_ = 1, tile_rows_ = 1,
               tile_columns_ = 1;
};

}  // namespace

void convert_one(void* to, DType to_type, const void* from, DType from_type) {
  with_type(to_type, [&]<class To>(std::type_identity<To>) {
    with_type(from_type,
              [&]<class From>(std::type_identity<From>) { store_as(to, convert<To>(load_as<From>(from))); });
  });
}

namespace {
template <class Kind>
[[gnu::always_inline]] inline void run_any_loop(const KernelArgs& args) {
  const auto& code = *static_cast<const LoopCode*>(args.context);
  const DefaultFloatMode mode;
  DenseCall<Kind> call;
  if (make_dense_call(code, args, call)) {
    std::int64_t count = 1;
    for (int i = 0; i < output(args, 0).rank; ++i) count *= output(args, 0).sizes[i];
    return run_dense(code, call, args.scalars, count);
  }
  StridedRun<Kind>(code, args).run();
}
}  // namespace

void cast_elements(char* to, DType to_type, char* from, DType from_type, std::int64_t count) {
  void* data[2] = {to, from};
  constexpr std::int64_t kDense[2] = {1, 1};
  cast_loop(from_type, to_type)->function(count, data, kDense, nullptr);
}

void run_loop(Stream&, const KernelArgs& args) { run_any_loop<OneOp>(args); }
void run_fused_loop(Stream&, const KernelArgs& args) { run_any_loop<Fused>(args); }

}  // namespace pel::cpu
