#include "backends/cpu/rows/rows.h"

#include <algorithm>

#include "backends/cpu/grains.h"
#include "backends/cpu/rows/row_run.h"
#include "base/check.h"

namespace pel::cpu {

RowRun::RowRun(const RowCode& code, const KernelArgs& args)
    : code_(code), outputs_(static_cast<int>(code.outputs.size())), width_(size_bytes(code.value)) {
  PEL_ASSERT(outputs_ <= kMaxOutputs && code.folds.size() <= kMaxFolds,
             "the row op must fit the driver's arrays");
  for (int k = 0; k < operand_count(); ++k) {
    base_[k] = static_cast<char*>(args.operands[k].data);
    stored_[k] = static_cast<DType>(args.operands[k].dtype);
  }
  make_axes(args);
  length_ = count_of(reduced_);
  rows_ = count_of(outer_);
  blocks_ = (length_ + kBlock - 1) / kBlock;
  scalars_.push_back({static_cast<double>(length_), length_, PEL_SCALAR_INT, {}});
  for (std::uint32_t i = 1; i < args.scalar_count; ++i) scalars_.push_back(args.scalars[i]);
  plan();
}

void RowRun::run() {
  // If there are few chunks of many blocks, threads split the blocks.
  const Grain grain = chunks_ < tasks_ && blocks_ >= tasks_
                          ? Grain(chunks_)
                          : Grain::of(kGrainElements, length_ * chunk_width_);
  parallel_for(chunks_, grain, [&](std::int64_t begin, std::int64_t end) {
    const DefaultFloatMode mode;
    Chunk chunk(*this);
    for (std::int64_t i = begin; i < end; ++i) chunk.run(i);
    stream_fence();
  });
}

void RowRun::make_axes(const KernelArgs& args) {
  const Operand& first = input(args, 0);
  const auto mask = static_cast<std::uint64_t>(args.scalars[0].as_int);
  for (int i = first.rank; i-- > 0;) {
    if (first.sizes[i] == 1) continue;
    Axis axis{first.sizes[i], {}};
    for (int k = 0; k < operand_count(); ++k)
      axis.step[k] = args.operands[k].strides[i] * size_bytes(stored_[k]);
    merge((mask >> i) & 1 ? reduced_ : outer_, axis);
  }
  // Outer axes are sorted by stride, so that adjacent rows share cache lines. Reduced axes keep their order.
  std::sort(outer_.begin(), outer_.end(),
            [this](const Axis& a, const Axis& b) { return a.step[outputs_] < b.step[outputs_]; });
}

void RowRun::merge(Axes& axes, const Axis& axis) const {
  bool continues = !axes.empty();
  for (int k = 0; continues && k < operand_count(); ++k)
    continues = axis.step[k] == axes.back().size * axes.back().step[k];
  if (continues) {
    axes.back().size *= axis.size;
  } else {
    axes.push_back(axis);
  }
}

void RowRun::plan() {
  const int first = outputs_;
  by_columns_ = !outer_.empty() && !reduced_.empty() && outer_[0].size >= kMinColumns &&
                outer_[0].step[first] < reduced_[0].step[first] && outer_[0].step[first] != 0 &&
                code_.stages.empty();
  for (const RowCode::Fold& fold : code_.folds)
    by_columns_ =
        by_columns_ && (fold.combine == nullptr || fold.element != nullptr || fold.accumulate != nullptr);
  for (int k = 0; k < operand_count(); ++k) {
    repeats_[k] = is_dense_[k] = true;
    std::int64_t dense = size_bytes(stored_[k]);
    for (const Axis& axis : reduced_) {
      repeats_[k] = repeats_[k] && axis.step[k] == 0;
      is_dense_[k] = is_dense_[k] && axis.step[k] == dense;
      dense *= axis.size;
    }
  }
  is_grouped_ = by_columns_ && reduced_.size() == 1 && outer_[0].size <= kMaxInGroup && code_.saved_fold < 0;
  for (int k = first; is_grouped_ && k < operand_count(); ++k)
    is_grouped_ = repeats_[k] || (follows(k) && stored_[k] == loop_dtype(k));
  const std::int64_t row_bytes = std::max<std::int64_t>(1, length_ * size_bytes(stored_[first]));
  if (by_columns_) {
    const bool once = code_.folds.size() == 1 && !has_row_output();
    const std::int64_t fits =
        once ? kMaxColumns : std::clamp<std::int64_t>(2 * kChunkBytes / row_bytes, 16, kMaxColumns);
    const std::int64_t shared = std::max(kMinInChunk, (outer_[0].size + tasks_ - 1) / tasks_);
    chunk_width_ = is_grouped_ ? outer_[0].size : std::min({fits, shared, outer_[0].size});
    chunks_inside_ = (outer_[0].size + chunk_width_ - 1) / chunk_width_;
    chunks_ = rows_ / outer_[0].size * chunks_inside_;
  } else {
    const std::int64_t shared = std::max<std::int64_t>(1, rows_ / tasks_);
    const std::int64_t max_rows = code_.folds.empty() ? kMaxRowsWithoutFolds : kMaxRows;
    chunk_width_ = std::min(std::clamp<std::int64_t>(kChunkBytes / row_bytes, 1, max_rows), shared);
    chunks_ = (rows_ + chunk_width_ - 1) / chunk_width_;
  }
  is_direct_ = by_columns_ && reduced_.size() == 1;
  for (int k = first; is_direct_ && k < operand_count(); ++k) {
    is_direct_ = stored_[k] == loop_dtype(k) &&
                 (outer_[0].step[k] == size_bytes(stored_[k]) || outer_[0].step[k] == 0);
  }
  // A large result that is not written in place bypasses the caches.
  for (int o = 0; o < outputs_; ++o) {
    streams_[o] = code_.outputs[static_cast<std::size_t>(o)].kind == RowOutput::Kind::Row &&
                  rows_ * length_ * size_bytes(stored_[o]) >= kStreamBytes;
    for (int k = outputs_; k < operand_count(); ++k) streams_[o] = streams_[o] && base_[k] != base_[o];
  }
  // As many rows as stay in L2.
  int folds = 0;
  for (const RowCode::Fold& fold : code_.folds) folds += fold.combine != nullptr ? 1 : 0;
  for (int k = first; k < operand_count(); ++k)
    is_packed_[k] = !by_columns_ && folds > 1 && !repeats_[k] && !is_dense_[k] &&
                    length_ * stored_width(k) * chunk_width_ <= kChunkBytes &&
                    (read_by_folds() >> (k - first) & 1) != 0;
  needs_rows_ = by_columns_ || !code_.folds.empty();
  needs_rows_ = needs_rows_ || !code_.stages.empty();
  for (int o = 0; o < outputs_; ++o) {
    is_plain_[o] = code_.outputs[static_cast<std::size_t>(o)].kind == RowOutput::Kind::Row && is_plain(o);
    needs_rows_ = needs_rows_ || !is_plain_[o];
  }
}

bool RowRun::is_plain(int o) const {
  const RowCode::Output& code = code_.outputs[static_cast<std::size_t>(o)];
  bool is_plain = chunks_ >= tasks_ && !streams_[o] && code_.saved_fold < 0 && code_.stages.empty() &&
                  reduced_.size() >= 1 && reduced_.size() <= 2 &&
                  reduced_[0].step[o] == size_bytes(stored_[o]);
  for (int k = outputs_; is_plain && k < operand_count(); ++k) {
    const std::int64_t step = reduced_[0].step[k];
    is_plain = (code.reads >> (k - outputs_) & 1) == 0 ||
               (stored_[k] == loop_dtype(k) && (step == 0 || step == size_bytes(stored_[k])));
  }
  return is_plain;
}

std::uint64_t RowRun::read_by_folds() const {
  std::uint64_t reads = 0;
  for (const RowCode::Fold& fold : code_.folds) reads |= fold.reads;
  return reads;
}

bool RowRun::has_row_output() const {
  return std::any_of(code_.outputs.begin(), code_.outputs.end(),
                     [](const RowCode::Output& o) { return o.kind == RowOutput::Kind::Row; });
}

void run_rows(Stream&, const KernelArgs& args) {
  RowRun(*static_cast<const RowCode*>(args.context), args).run();
}

}  // namespace pel::cpu
