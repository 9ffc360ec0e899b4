// Writes the outputs of row ops from the values of rows.
#include <cstring>

#include "backends/cpu/elementwise/pointwise.h"
#include "backends/cpu/elementwise/tile.h"
#include "backends/cpu/grains.h"
#include "backends/cpu/rows/row_run.h"
#include "tensor/convert.h"

namespace pel::cpu {
namespace {

// Loads a value for comparison; f16 and bf16 are not compared.
template <class T>
auto load_value(const char* from) {
  if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>) {
    return convert<float>(load_as<T>(from));
  } else {
    return load_as<T>(from);
  }
}

}  // namespace

void RowRun::Chunk::write(int o) {
  switch (run_.code_.outputs[static_cast<std::size_t>(o)].kind) {
    case RowOutput::Kind::Value:
      return write_values(o);
    case RowOutput::Kind::Row:
      if (run_.length_ == 0) return;  // loops over runs require at least one element
      if (run_.code_.outputs[static_cast<std::size_t>(o)].function == nullptr)
        return;  // a stage has written it
      return run_.by_columns_ ? write_columns(o) : write_rows(o);
    case RowOutput::Kind::Index:
      return write_indices(o);
  }
}

void RowRun::Chunk::write_values(int o) {
  const bool is_direct = run_.by_columns_ && run_.outer_[0].step[o] == run_.stored_width(o);
  LoopCall call;
  call.add(is_direct ? row(o, 0) : results_.data(), 1);
  for (std::size_t v = 0; v < run_.code_.folds.size(); ++v) call.add(value(v), 1);
  run_.code_.outputs[static_cast<std::size_t>(o)].function(count_, call.data, call.strides, scalars());
  if (!is_direct) scatter(o);
}

void RowRun::Chunk::scatter(int o) {
  const std::int64_t width = size_bytes(run_.stored_[o]);
  for (std::int64_t w = 0; w < count_; ++w)
    std::memcpy(row(o, w), results_.data() + w * width, static_cast<std::size_t>(width));
}

void RowRun::Chunk::write_plain(int o) {
  const RowCode::Output& code = run_.code_.outputs[static_cast<std::size_t>(o)];
  const Axis& inner = run_.reduced_[0];
  const bool is_one_run = run_.reduced_.size() == 1;
  const Axis outer = !is_one_run ? run_.reduced_[1] : run_.outer_.empty() ? Axis{1, {}} : run_.outer_[0];
  SmallVector<int, kMaxOperands> moving = {o};  // the operand of each argument
  LoopCall call;
  std::int64_t steps[std::size(call.data)] = {outer.step[o]};
  bool is_dense_first = true;
  call.add(nullptr, 1);
  for (int i = 0; i < run_.code_.input_count; ++i) {
    const int k = run_.outputs_ + i;
    const bool is_read = (code.reads >> i & 1) != 0;
    const std::int64_t stride = is_read && inner.step[k] != 0 ? 1 : 0;
    is_dense_first = is_dense_first && stride == (i == 0 ? 1 : 0);
    moving.push_back(is_read ? k : -1);
    steps[call.count] = is_read ? outer.step[k] : 0;
    call.add(unused_input, stride);
  }
  for (std::size_t v = 0; v < run_.code_.folds.size(); ++v) {
    steps[call.count] = is_one_run ? run_.width_ : 0;
    call.add(nullptr, 0);
  }
  for (std::int64_t w = 0, rows = 1; w < count_; w += rows) {
    if (is_one_run) rows = std::min(count_ - w, outer.size - (first_ + w) % outer.size);
    for (std::size_t i = 0; i < moving.size(); ++i) {
      if (const int k = moving[i]; k >= 0)
        call.data[i] = run_.base_[k] + offset_of(run_.outer_, k, first_ + w);
    }
    for (std::size_t v = 0; v < run_.code_.folds.size(); ++v) call.data[moving.size() + v] = value(v, w);
    const std::int64_t runs = is_one_run ? rows : outer.size;
    if (is_dense_first && code.runs != nullptr) {
      code.runs(inner.size, call.data, scalars(), runs, steps);
      continue;
    }
    for (std::int64_t r = 0; r < runs; ++r) {
      code.function(inner.size, call.data, call.strides, scalars());
      for (int i = 0; i < call.count; ++i) call.data[i] = static_cast<char*>(call.data[i]) + steps[i];
    }
  }
}

void RowRun::Chunk::write_rows(int o) {
  if (run_.is_plain_[o]) return write_plain(o);
  // Writes runs of the inner axis: there the result is dense, and a repeated input is one element.
  const Axes& axes = run_.reduced_;
  const bool by_runs = axes.size() > 1 && axes[0].size >= kMinInRun;
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

bool RowRun::Chunk::is_dense_run(int o, std::int64_t begin, std::int64_t length) const {
  const Axes& axes = run_.reduced_;
  return axes.empty() || ((axes.size() == 1 || begin % axes[0].size + length <= axes[0].size) &&
                          axes[0].step[o] == size_bytes(run_.stored_[o]));
}

void RowRun::Chunk::write_row(int o, std::int64_t w, std::int64_t begin, std::int64_t length) {
  const RowCode::Output& code = run_.code_.outputs[static_cast<std::size_t>(o)];
  const bool is_direct = is_dense_run(o, begin, length) && !run_.streams_[o];
  LoopCall call;
  call.add(is_direct ? row(o, w) + offset_of(run_.reduced_, o, begin) : workspace().packed[o], 1);
  add_row(call, code.reads, w, begin, length);
  add_stages(call, code.reads, w, begin);
  if (run_.code_.saved_fold >= 0) call.add(read_saved_row(w, begin, length));
  for (std::size_t v = 0; v < run_.code_.folds.size(); ++v) call.add(value(v, w), 0);
  code.function(length, call.data, call.strides, scalars());
  if (!is_direct) store_row(o, w, begin, length, workspace().packed[o]);
}

void RowRun::Chunk::store_row(int o, std::int64_t w, std::int64_t begin, std::int64_t length, char* from) {
  const Axes& axes = run_.reduced_;
  const std::int64_t width = size_bytes(run_.stored_[o]);
  char* const base = row(o, w);
  if (is_dense_run(o, begin, length))
    return stream_copy(base + offset_of(axes, o, begin), from, length * width);
  for (std::int64_t done = 0; done < length;) {
    const std::int64_t at = begin + done;
    const std::int64_t run = std::min(axes[0].size - at % axes[0].size, length - done);
    copy_tile({base + offset_of(axes, o, at), 0, axes[0].step[o]}, {from + done * width, 0, width}, 1, run,
              width);
    done += run;
  }
}

void RowRun::Chunk::compute_columns(int o, std::int64_t at, char* to) {
  const RowCode::Output& code = run_.code_.outputs[static_cast<std::size_t>(o)];
  LoopCall call;
  call.add(to, 1);
  add_columns(call, code.reads, at);
  if (run_.code_.saved_fold >= 0) call.add(read_saved_columns(at));
  for (std::size_t v = 0; v < run_.code_.folds.size(); ++v) call.add(value(v), 1);
  code.function(count_, call.data, call.strides, scalars());
}

void RowRun::Chunk::write_columns(int o) {
  const std::int64_t width = size_bytes(run_.stored_[o]), step = run_.outer_[0].step[o];
  const RowCode::Output& code = run_.code_.outputs[static_cast<std::size_t>(o)];
  const bool grouped = run_.is_grouped_ && run_.follows(o);
  // A result whose rows are dense: a cache line of each row is computed by columns, then transposed.
  const bool transposes = step != width && run_.is_dense_[o];
  const std::int64_t block = transposes ? kLineBytes / width : 1;
  if (grouped) make_tiles(code.reads, run_.code_.folds.size());
  parallel_for(run_.length_, Grain::of(kGrainElements, count_), [&](std::int64_t begin, std::int64_t end) {
    const DefaultFloatMode mode;
    for (std::int64_t at = begin; grouped && at < end; at += kLanes) {
      LoopCall call;
      call.add(row(o, 0) + at * run_.reduced_[0].step[o], 1);
      add_groups(call, code.reads, at);
      code.function(std::min(kLanes, end - at) * count_, call.data, call.strides, scalars());
    }
    for (std::int64_t at = begin; !grouped && at < end; at += block) {
      char* const to = row(o, 0) + offset_of(run_.reduced_, o, at);
      if (step == width) {
        compute_columns(o, at, to);
        continue;
      }
      char* const lines = workspace().lines;
      const std::int64_t columns = std::min(block, end - at);
      for (std::int64_t i = 0; i < columns; ++i) compute_columns(o, at + i, lines + i * count_ * width);
      copy_tile({to, width, step}, {lines, count_ * width, width}, columns, count_, width);
    }
  });
}

const char* RowRun::Chunk::read_values(std::int64_t w, std::int64_t begin, std::int64_t length) {
  const int k = run_.outputs_;
  const DType stored = run_.loop_dtype(k), type = run_.code_.value;
  const View elements = read_row(k, w, begin, length);
  if (elements.stride == 1 && stored == type) return elements.data;
  char* to = workspace().raw;
  if (elements.stride == 1) {
    cast_elements(to, type, elements.data, stored, length);
    return to;
  }
  for (std::int64_t i = 0; i < length; ++i) convert_one(to + i * run_.width_, type, elements.data, stored);
  return to;
}

void RowRun::Chunk::write_indices(int o) {
  with_type(run_.code_.value, [&]<class T>(std::type_identity<T>) {
    using Number = decltype(load_value<T>(nullptr));
    const auto load = [](const char* from) { return load_value<T>(from); };
    const auto same = [](Number a, Number b) { return a == b || (a != a && b != b); };
    for (std::int64_t w = 0; w < count_; ++w) {
      const Number target = load(value(0, w));
      std::int64_t b = 0;
      while (b + 1 < run_.blocks_ && !same(load(partial(b, w)), target)) ++b;
      const std::int64_t length = std::min(kBlock, run_.length_ - b * kBlock);
      const char* elements = read_values(w, b * kBlock, length);
      std::int64_t i = 0;
      while (i + 1 < length && !same(load(elements + i * run_.width_), target)) ++i;
      const std::int64_t index = b * kBlock + i;
      std::memcpy(results_.data() + w * 8, &index, 8);
    }
  });
  scatter(o);
}

}  // namespace pel::cpu
