// Rows of a table, added, averaged or compared in bags of neighbours. Bag k begins at offsets[k].
#include <limits>

#include "pellucid/ops.h"
#include "pellucid/ops/indexing.h"
#include "pellucid/ops/internal.h"
#include "pellucid/ops/pointwise.h"
#include "pellucid/ops/reductions.h"
#include "pellucid/ops/sorting.h"

#include "base/check.h"
#include "dispatch/op_table.h"
#include "ops/shared/index.h"
#include "tensor/make.h"

namespace pel {
namespace {

enum Mode : std::int64_t { kSum, kMean, kMax };

// The reduction of a bag's rows, and for max the row it came from.
struct Bags {
  Tensor result, max_rows;
};
Bags fold_bags(const Tensor& rows, const Tensor& bag, const Tensor& sizes, const Tensor& ids, Mode mode) {
  const Dim count = sizes.sizes()[0], width = rows.sizes()[1];
  const TensorOptions like = {rows.dtype(), rows.device()};
  const Tensor no_rows = zeros({mode == kMax ? count : Dim(0), width}, {kI64, rows.device()});
  const Tensor positions = expand(bag.unsqueeze(1), rows.sizes());
  if (mode != kMax) {
    const Tensor sums = scatter_add(zeros({count, width}, like), 0, positions, rows);
    if (mode == kSum) return {sums, no_rows};
    const Tensor divisors = to(clamp_min(sizes, 1), rows.dtype());
    return {div(sums, divisors.unsqueeze(1)), no_rows};
  }
  const Scalar lowest = -std::numeric_limits<double>::infinity();
  const Tensor none = full({count, width}, lowest, like);
  const Tensor max = scatter_reduce(none, 0, positions, rows, ScatterReduce::Amax);
  const Tensor is_empty = eq(sizes, 0).unsqueeze(1);
  // The first row that has the max: the smallest of their indices.
  const Dim total = rows.sizes()[0];
  const Tensor numbers = expand(arange(Scalar(total), {kI64, rows.device()}).unsqueeze(1), rows.sizes());
  const Tensor candidates = where(eq(rows, gather(max, 0, positions)), numbers, Scalar(total));
  const Tensor first = scatter_reduce(full({count, width}, Scalar(total), {kI64, rows.device()}), 0,
                                      positions, candidates, ScatterReduce::Amin);
  const Tensor padded = cat({ids, zeros({1}, {kI64, rows.device()})});
  return {masked_fill(max, is_empty, 0), index_select(padded, 0, first.flatten()).view({count, width})};
}

std::tuple<Tensor, Tensor, Tensor, Tensor> embedding_bag_body(const Tensor& weight, const Tensor& indices,
                                                              const Tensor& offsets, ScaleGradByFreq,
                                                              std::int64_t mode, Sparse,
                                                              const std::optional<Tensor>& per_sample_weights,
                                                              IncludeLastOffset include_last_offset,
                                                              std::int64_t padding_idx) {
  PEL_CHECK(indices.dim() == 1 && offsets.dim() == 1, ShapeError,
            "indices and offsets are vectors, not {} and {}", describe(indices), describe(offsets));
  PEL_CHECK(mode >= kSum && mode <= kMax, ValueError, "mode is 0 (sum), 1 (mean) or 2 (max), not {}", mode);
  PEL_CHECK(!per_sample_weights || mode == kSum, ValueError,
            "weights of samples go with mode 0 (sum), not {}", mode);
  check_index_dtype(indices);
  check_index_dtype(offsets);
  const Tensor ids = to(indices, kI64);
  const Tensor starts =
      to(include_last_offset == IncludeLastOffset::Yes ? slice(offsets, 0, 0, -1) : offsets, kI64);
  const Dim total = ids.sizes()[0], count = starts.sizes()[0];
  // The last bag that begins at or before each index.
  const Tensor numbers = arange(Scalar(total), {kI64, ids.device()});
  const Tensor bag = sub(searchsorted(starts, numbers, OutInt32::No, Side::Right), 1);
  Tensor rows = embedding(weight, ids);
  if (per_sample_weights) rows = mul(rows, to(*per_sample_weights, rows.dtype()).unsqueeze(1));
  Tensor counted = ones({total}, {kI64, ids.device()});
  if (padding_idx >= 0) {
    const Tensor is_padding = eq(ids, padding_idx);
    counted = masked_fill(counted, is_padding, 0);
    const double otherwise = mode == kMax ? -std::numeric_limits<double>::infinity() : 0;
    rows = masked_fill(rows, is_padding.unsqueeze(1), otherwise);
  }
  const Tensor sizes = scatter_add(zeros({count}, {kI64, ids.device()}), 0, bag, counted);
  const Bags bags = fold_bags(rows, bag, sizes, ids, static_cast<Mode>(mode));
  return {bags.result, bag, sizes, bags.max_rows};
}

}  // namespace

namespace ops {
OpDef define__embedding_bag() {
  return define_op<embedding_bag_body>(OpKind::Composite,
                                       "_embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool "
                                       "scale_grad_by_freq=False, int "
                                       "mode=0, bool sparse=False, Tensor? per_sample_weights=None, bool "
                                       "include_last_offset=False, int "
                                       "padding_idx=-1) -> (Tensor, Tensor, Tensor, Tensor)")
      .samples([](Sampler& s) {
        const Tensor offsets = from_data(std::vector<std::int64_t>{0, 2, 2}, {3});
        return SampleCalls{
            {s({4, 2}), s.indices(4, {5}), offsets, false, Dim(0), false, s({5})},
            {s({4, 2}), s.indices(4, {5}), offsets, false, Dim(1), false, Value(), false, Dim(1)},
            {s.apart({4, 2}), s.permuted(4), offsets, false, Dim(2)}};
      });
}
}  // namespace ops

namespace internal {
std::tuple<Tensor, Tensor, Tensor, Tensor> _embedding_bag(const Tensor& weight, const Tensor& indices,
                                                          const Tensor& offsets, ScaleGradByFreq scale,
                                                          std::int64_t mode, Sparse sparse,
                                                          const std::optional<Tensor>& per_sample_weights,
                                                          IncludeLastOffset include_last_offset,
                                                          std::int64_t padding_idx, Site site) {
  return call<"_embedding_bag", embedding_bag_body>(site, weight, indices, offsets, scale, mode, sparse,
                                                    per_sample_weights, include_last_offset, padding_idx);
}
}  // namespace internal

}  // namespace pel
