// Reduces the elements of rows to values, by rows and by columns in one order.
#include "backends/cpu/rows/row_run.h"

namespace pel::cpu {

void RowRun::Chunk::fold(std::size_t f) {
  const RowCode::Fold& code = run_.code_.folds[f];
  if (code.combine == nullptr) {
    // There is no reduction.
  } else if (run_.by_columns_) {
    const bool grouped = run_.is_grouped_;
    if (grouped) make_tiles(code.reads, f);
    for_blocks([&](std::int64_t begin, std::int64_t length, std::int64_t b) {
      grouped ? fold_groups(f, begin, length, partial(b)) : fold_columns(f, begin, length, partial(b));
    });
    combine_columns(code, value(f));
  } else {
    for_rows([&](std::int64_t w, std::int64_t begin, std::int64_t length, std::int64_t b) {
      fold_row(f, w, begin, length, partial(b, w));
    });
    for (std::int64_t w = 0; w < count_; ++w) combine_row(code, w, value(f, w));
  }
  if (code.finish == nullptr) return;
  LoopCall call;
  call.add(value(f), 1);
  for (std::size_t v = 0; v <= f; ++v) call.add(value(v), 1);
  code.finish(count_, call.data, call.strides, scalars());
}

void RowRun::Chunk::fold_row(std::size_t f, std::int64_t w, std::int64_t begin, std::int64_t length,
                             char* to) {
  const RowCode::Fold& code = run_.code_.folds[f];
  LoopCall call;
  call.add(to, 1);
  if (code.element != nullptr) {
    call.add(save_row(w, begin, length), 1);
    code.fold_values(length, call.data, call.strides, nullptr);
    return;
  }
  if (code.stage >= 0) call.add(staged_row(static_cast<std::size_t>(code.stage), w, begin), 1);
  add_row(call, code.reads, w, begin, length);
  add_stages(call, code.reads, w, begin);
  for (std::size_t v = 0; v < f; ++v) call.add(value(v, w), 0);
  code.fold(length, call.data, call.strides, scalars());
  if (code.stage >= 0) store_staged(static_cast<std::size_t>(code.stage), w, begin, length);
}

char* RowRun::Chunk::save_row(std::int64_t w, std::int64_t begin, std::int64_t length) {
  const auto f = static_cast<std::size_t>(run_.code_.saved_fold);
  LoopCall call;
  call.add(saved_row(w, begin), 1);
  add_row(call, run_.code_.folds[f].reads, w, begin, length);
  for (std::size_t v = 0; v < f; ++v) call.add(value(v, w), 0);
  run_.code_.folds[f].element(length, call.data, call.strides, scalars());
  return static_cast<char*>(call.data[0]);
}

char* RowRun::Chunk::save_columns(std::int64_t at) {
  const auto f = static_cast<std::size_t>(run_.code_.saved_fold);
  LoopCall call;
  call.add(saved_columns(at), 1);
  add_columns(call, run_.code_.folds[f].reads, at);
  for (std::size_t v = 0; v < f; ++v) call.add(value(v), 1);
  run_.code_.folds[f].element(count_, call.data, call.strides, scalars());
  return static_cast<char*>(call.data[0]);
}

void RowRun::Chunk::fold_columns(std::size_t f, std::int64_t begin, std::int64_t length, char* to) {
  const RowCode::Fold& code = run_.code_.folds[f];
  char* const lanes = workspace().lanes;
  const auto lane = [&](std::int64_t l) { return lanes + l * count_ * run_.width_; };
  std::uint64_t initial = code.initial_bits;
  LoopCall call;
  for (std::int64_t r = 0; r < length; ++r) {
    if (r == 0 || !run_.is_direct_ || code.element != nullptr) {
      call.count = 2;
      if (code.element != nullptr) {
        call.add(save_columns(begin + r), 1);
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
    if (f == 0 && run_.is_direct_ && r + kFetchRows < length) {
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
      code.accumulate(count_, call.data, call.strides, scalars());
    }
  }
  combine_lanes(code, lanes, length, to);
}

void RowRun::Chunk::make_tiles(std::uint64_t reads, std::size_t values) {
  tiles_.clear();
  // Views into `tiles_` are created once it is no longer reallocated.
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
    add(is_tile ? read_columns(k, 0) : View{unused_input, 0}, size_bytes(run_.loop_dtype(k)));
  }
  for (std::size_t v = 0; v < values; ++v) add({value(v), 1}, run_.width_);
  views_.clear();
  for (std::size_t i = 0; i < begins.size(); ++i) views_.push_back({tiles_.data() + begins[i], strides[i]});
}

void RowRun::Chunk::add_groups(LoopCall& call, std::uint64_t reads, std::int64_t at) const {
  for (std::size_t i = 0; i < views_.size(); ++i) {
    const int k = run_.outputs_ + static_cast<int>(i);
    const bool is_input = static_cast<int>(i) < run_.code_.input_count;
    const bool follows = is_input && (reads >> i & 1) != 0 && run_.follows(k);
    call.add(follows ? View{row(k, 0) + at * run_.reduced_[0].step[k], 1} : views_[i]);
  }
}

void RowRun::Chunk::fold_groups(std::size_t f, std::int64_t begin, std::int64_t length, char* to) {
  const RowCode::Fold& code = run_.code_.folds[f];
  char* const lanes = workspace().lanes;
  std::uint64_t initial = code.initial_bits;
  for (std::int64_t r = 0; r < length; r += kLanes) {
    LoopCall call;
    call.add(lanes, 1);
    call.add(r == 0 ? View{reinterpret_cast<char*>(&initial), 0} : View{lanes, 1});
    add_groups(call, code.reads, begin + r);
    code.accumulate(std::min(kLanes, length - r) * count_, call.data, call.strides, scalars());
  }
  combine_lanes(code, lanes, length, to);
}

void RowRun::Chunk::combine_lanes(const RowCode::Fold& code, char* lanes, std::int64_t length, char* to) {
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

void RowRun::Chunk::combine_row(const RowCode::Fold& code, std::int64_t w, char* to) {
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

void RowRun::Chunk::combine_columns(const RowCode::Fold& code, char* to) {
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
      combine_lanes(code, lanes.data(), length, folded.data() + b * bytes);
    }
    sequence = std::move(folded);
    from = sequence.data();
    from_step = bytes;
    left = next;
  }
  std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

}  // namespace pel::cpu
