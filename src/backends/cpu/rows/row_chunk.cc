// The rows of a chunk, and the inputs of its loops.
#include "backends/cpu/elementwise/pointwise.h"
#include "backends/cpu/elementwise/tile.h"
#include "backends/cpu/rows/row_run.h"

namespace pel::cpu {

void RowRun::Chunk::run(std::int64_t number) {
  locate(number);
  pack_rows();
  for (std::size_t f = 0; f < run_.code_.folds.size(); ++f) {
    run_stages(f);
    fold(f);
  }
  run_stages(run_.code_.folds.size());
  for (int o = 0; o < run_.outputs_; ++o) write(o);
}

void RowRun::Chunk::run_stages(std::size_t folds) {
  for (std::size_t i = 0; i < run_.code_.stages.size(); ++i) {
    const RowCode::Stage& stage = run_.code_.stages[i];
    if (stage.after != folds || stage.function == nullptr || run_.length_ == 0) continue;
    for_rows([&](std::int64_t w, std::int64_t begin, std::int64_t length, std::int64_t) {
      LoopCall call;
      call.add(staged_row(i, w, begin), 1);
      add_row(call, stage.reads, w, begin, length);
      add_stages(call, stage.reads, w, begin);
      for (std::size_t v = 0; v < stage.after; ++v) call.add(value(v, w), 0);
      stage.function(length, call.data, call.strides, scalars());
      store_staged(i, w, begin, length);
    });
  }
}

char* RowRun::Chunk::staged_row(std::size_t stage, std::int64_t w, std::int64_t begin) {
  const std::int64_t width = size_bytes(run_.code_.stages[stage].dtype);
  if (run_.is_staged_in_place(stage)) return row(run_.code_.stages[stage].output, w) + begin * width;
  return staged_[stage].data() + (w * run_.length_ + begin) * width;
}

void RowRun::Chunk::store_staged(std::size_t stage, std::int64_t w, std::int64_t begin, std::int64_t length) {
  const int o = run_.code_.stages[stage].output;
  if (o >= 0 && !run_.is_staged_in_place(stage)) store_row(o, w, begin, length, staged_row(stage, w, begin));
}

void RowRun::Chunk::add_stages(LoopCall& call, std::uint64_t reads, std::int64_t w, std::int64_t begin) {
  for (std::size_t i = 0; i < run_.code_.stages.size(); ++i) {
    const bool is_read = (reads >> (static_cast<std::size_t>(run_.code_.input_count) + i) & 1) != 0;
    call.add(is_read ? View{staged_row(i, w, begin), 1} : View{unused_input, 0});
  }
}

void RowRun::Chunk::locate(std::int64_t number) {
  if (run_.by_columns_) {
    const std::int64_t inside = number % run_.chunks_inside_ * run_.chunk_width_;
    first_ = number / run_.chunks_inside_ * run_.outer_[0].size + inside;
    count_ = std::min(run_.chunk_width_, run_.outer_[0].size - inside);
  } else {
    first_ = number * run_.chunk_width_;
    count_ = std::min(run_.chunk_width_, run_.rows_ - first_);
  }
  if (run_.needs_rows_) find_rows();
}

void RowRun::Chunk::find_rows() {
  const int operands = run_.operand_count();
  SmallVector<std::int64_t, 6> at(run_.outer_.size());
  std::int64_t left = first_;
  for (std::size_t i = 0; i < at.size(); ++i) {
    at[i] = left % run_.outer_[i].size;
    left /= run_.outer_[i].size;
  }
  char** next = row_starts();
  for (int k = 0; k < operands; ++k) next[k] = run_.base_[k] + offset_of(run_.outer_, k, first_);
  for (std::int64_t w = 1; w < count_ && !run_.by_columns_; ++w, next += operands) {
    std::copy(next, next + operands, next + operands);
    for (std::size_t i = 0; i < at.size(); ++i) {
      const Axis& axis = run_.outer_[i];
      const bool ends = ++at[i] == axis.size;
      const std::int64_t move = ends ? 1 - axis.size : 1;
      for (int k = 0; k < operands; ++k) next[operands + k] += move * axis.step[k];
      if (!ends) break;
      at[i] = 0;
    }
  }
}

void RowRun::Chunk::pack_rows() {
  std::int64_t bytes = 0;
  for (int k = run_.outputs_; k < run_.operand_count(); ++k) {
    if (run_.is_packed_[k]) bytes += run_.chunk_width_ * run_.length_ * run_.stored_width(k);
  }
  if (bytes == 0) return;
  packed_.resize(static_cast<std::size_t>(bytes));
  char* to = packed_.data();
  for (int k = run_.outputs_; k < run_.operand_count(); ++k) {
    if (!run_.is_packed_[k]) continue;
    packed_begin_[k] = to;
    const std::int64_t width = run_.stored_width(k), step = run_.length_ * width;
    for (std::int64_t w = 0, rows = 1; w < count_; w += rows, to += rows * step) {
      if (run_.reduced_.size() > 1 || run_.outer_.empty()) {
        gather_row(k, row(k, w), 0, run_.length_, to);
        continue;
      }
      // Rows at one distance are one tile, which is transposed if they are adjacent.
      const Axis& outer = run_.outer_[0];
      rows = std::min(count_ - w, outer.size - (first_ + w) % outer.size);
      copy_tile({to, step, width}, {row(k, w), outer.step[k], run_.reduced_[0].step[k]}, rows, run_.length_,
                width);
    }
  }
}

void RowRun::Chunk::add_row(LoopCall& call, std::uint64_t reads, std::int64_t w, std::int64_t begin,
                            std::int64_t length) {
  for (int i = 0; i < run_.code_.input_count; ++i)
    call.add(reads >> i & 1 ? read_row(run_.outputs_ + i, w, begin, length) : View{unused_input, 0});
}

void RowRun::Chunk::add_columns(LoopCall& call, std::uint64_t reads, std::int64_t at) {
  for (int i = 0; i < run_.code_.input_count; ++i)
    call.add(reads >> i & 1 ? read_columns(run_.outputs_ + i, at) : View{unused_input, 0});
}

void RowRun::Chunk::gather_row(int k, char* base, std::int64_t begin, std::int64_t length, char* to) const {
  const Axes& axes = run_.reduced_;
  const std::int64_t width = run_.stored_width(k);
  char* from = nullptr;
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
}

View RowRun::Chunk::read_row(int k, std::int64_t w, std::int64_t begin, std::int64_t length) {
  const DType stored = run_.stored_[k], loop_dtype = run_.loop_dtype(k);
  char* base = row(k, w);
  if (run_.repeats_[k]) return one(k, base);
  const Axes& axes = run_.reduced_;
  const std::int64_t width = size_bytes(stored);
  if (run_.is_dense_[k]) return in_dtype(k, base + begin * width, length);
  if (run_.is_packed_[k]) return in_dtype(k, packed_begin_[k] + (w * run_.length_ + begin) * width, length);
  const bool is_run = axes.size() == 1 || begin % axes[0].size + length <= axes[0].size;
  char* from = base + offset_of(axes, k, begin);
  if (is_run && axes[0].step[k] == 0) return one(k, from);
  if (!is_run || axes[0].step[k] != width) {
    char* to = stored == loop_dtype ? workspace().packed[k] : workspace().raw;
    gather_row(k, base, begin, length, to);
    from = to;
  }
  return in_dtype(k, from, length);
}

View RowRun::Chunk::read_columns(int k, std::int64_t at) {
  const DType stored = run_.stored_[k], loop_dtype = run_.loop_dtype(k);
  const std::int64_t width = size_bytes(stored), step = run_.outer_[0].step[k];
  char* from = row(k, 0) + offset_of(run_.reduced_, k, at);
  if (step == 0) return one(k, from);
  if (step != width) {
    char* to = stored == loop_dtype ? workspace().packed[k] : workspace().raw;
    copy_tile({to, 0, width}, {from, 0, step}, 1, count_, width);
    from = to;
  }
  return in_dtype(k, from, count_);
}

View RowRun::Chunk::one(int k, char* from) {
  if (run_.stored_[k] == run_.loop_dtype(k)) return {from, 0};
  convert_one(workspace().packed[k], run_.loop_dtype(k), from, run_.stored_[k]);
  return {workspace().packed[k], 0};
}

View RowRun::Chunk::in_dtype(int k, char* from, std::int64_t length) {
  if (run_.stored_[k] == run_.loop_dtype(k)) return {from, 1};
  cast_elements(workspace().packed[k], run_.loop_dtype(k), from, run_.stored_[k], length);
  return {workspace().packed[k], 1};
}

}  // namespace pel::cpu
