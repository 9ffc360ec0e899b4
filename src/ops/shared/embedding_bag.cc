#include "ops/shared/embedding_bag.h"

#include <limits>

#include "pellucid/ops.h"
#include "pellucid/ops/indexing.h"
#include "pellucid/ops/pointwise.h"
#include "pellucid/ops/sorting.h"

#include "base/check.h"
#include "ops/shared/index.h"

namespace pel {
namespace {

constexpr double kLowest = -std::numeric_limits<double>::infinity();

// The max of each bag, and the row of the table it came from.
struct BagMaxima {
  Tensor values, rows;
};
BagMaxima maxima_of_bags(const Tensor& rows, const Tensor& positions, const Tensor& sizes,
                         const Tensor& ids) {
  const Dim count = sizes.sizes()[0], width = rows.sizes()[1], total = rows.sizes()[0];
  const TensorOptions integers = {kI64, rows.device()};
  const Tensor none = full({count, width}, kLowest, {rows.dtype(), rows.device()});
  const Tensor max = scatter_reduce(none, 0, positions, rows, ScatterReduce::Amax);
  const Tensor is_empty = eq(sizes, 0).unsqueeze(1);
  // The first row that has the max: the smallest of their indices.
  const Tensor numbers = expand(arange(Scalar(total), integers).unsqueeze(1), rows.sizes());
  const Tensor candidates = where(eq(rows, gather(max, 0, positions)), numbers, Scalar(total));
  const Tensor first = scatter_reduce(full({count, width}, Scalar(total), integers), 0, positions, candidates,
                                      ScatterReduce::Amin);
  const Tensor padded = cat({ids, zeros({1}, integers)});
  const Tensor table_rows = index_select(padded, 0, first.flatten()).view({count, width});
  return {masked_fill(max, is_empty, 0), masked_fill(table_rows, is_empty, 0)};
}

// Whether PyTorch sums without finding the bag of each index.
bool sums_directly(const BagArguments& a) {
  const DType dtype = a.weight.dtype();
  return (dtype == kF32 || dtype == kF16) && is_literally(a.weight.strides()[1], 1) && a.padding_idx < 0 &&
         (!a.per_sample_weights || is_literally(a.per_sample_weights->strides()[0], 1));
}

}  // namespace

BagMode check_bag_mode(std::int64_t mode, const std::optional<Tensor>& per_sample_weights) {
  PEL_CHECK(mode >= 0 && mode <= 2, ValueError, "mode is 0 (sum), 1 (mean) or 2 (max), not {}", mode);
  PEL_CHECK(!per_sample_weights || mode == 0, ValueError, "weights of samples go with mode 0 (sum), not {}",
            mode);
  return static_cast<BagMode>(mode);
}

Tensor bag_of_each(const Tensor& starts, const Dim& count) {
  const Tensor numbers = arange(Scalar(count), {kI64, starts.device()});
  return sub(searchsorted(to(starts, kI64), numbers, OutInt32::No, Side::Right), 1);
}

BagResults run_embedding_bag(const BagArguments& a, SumSizes sum_sizes) {
  PEL_CHECK(a.indices.dim() == 1 && a.offsets.dim() == 1, ShapeError,
            "indices and offsets are vectors, not {} and {}", describe(a.indices), describe(a.offsets));
  const BagMode mode = check_bag_mode(a.mode, a.per_sample_weights);
  PEL_CHECK(!a.per_sample_weights || a.per_sample_weights->dim() == 1, ShapeError,
            "weights of samples are a vector, not {}", describe(*a.per_sample_weights));
  check_index_dtype(a.indices);
  check_index_dtype(a.offsets);
  const Tensor ids = to(a.indices, kI64);
  const bool has_end = a.include_last_offset == IncludeLastOffset::Yes;
  const Tensor starts = has_end ? slice(a.offsets, 0, 0, -1) : a.offsets;
  const Dim total = ids.sizes()[0], count = starts.sizes()[0];
  const TensorOptions integers = {kI64, ids.device()}, as_offsets = {a.offsets.dtype(), ids.device()};
  const Tensor bag = bag_of_each(starts, total);
  Tensor rows = embedding(a.weight, ids);
  if (a.per_sample_weights) rows = mul(rows, to(*a.per_sample_weights, rows.dtype()).unsqueeze(1));
  Tensor counted = ones({total}, integers);
  if (a.padding_idx >= 0) {
    const Tensor is_padding = eq(ids, a.padding_idx);
    counted = masked_fill(counted, is_padding, 0);
    rows = masked_fill(rows, is_padding.unsqueeze(1), mode == BagMode::Max ? kLowest : 0);
  }
  const Tensor positions = expand(bag.unsqueeze(1), rows.sizes());
  const auto sums = [&] {
    return scatter_add(zeros({count, rows.sizes()[1]}, {rows.dtype(), rows.device()}), 0, positions, rows);
  };
  if (mode == BagMode::Sum) {
    const Tensor no_sizes = zeros({sum_sizes == SumSizes::OfBags ? count : a.offsets.sizes()[0]}, as_offsets);
    return {sums(), sums_directly(a) ? zeros({0}, as_offsets) : to(bag, a.offsets.dtype()), no_sizes,
            no_sizes.clone()};
  }
  const Tensor sizes = scatter_add(zeros({count}, integers), 0, bag, counted);
  const Tensor bag_size = to_copy(sizes, a.offsets.dtype()), offset2bag = to(bag, a.offsets.dtype());
  if (mode == BagMode::Mean) {
    const Tensor divisors = to(clamp_min(sizes, 1), rows.dtype());
    return {div(sums(), divisors.unsqueeze(1)), offset2bag, bag_size, bag_size.clone()};
  }
  const BagMaxima maxima = maxima_of_bags(rows, positions, sizes, ids);
  return {maxima.values, offset2bag, bag_size, to(maxima.rows, a.offsets.dtype())};
}

Tensor embedding_bag_gradient(const BagGradient& g) {
  PEL_CHECK(g.grad.dim() == 2 && g.indices.dim() == 1, ShapeError,
            "grad has a row for each bag and indices are a vector; they are {} and {}", describe(g.grad),
            describe(g.indices));
  const BagMode mode = check_bag_mode(g.mode, g.per_sample_weights);
  if (mode == BagMode::Max) {
    // Each element goes to the row that its max came from; bags without indices have none.
    const Tensor grad = masked_fill(g.grad, eq(g.bag_size, 0).unsqueeze(1), 0);
    const Tensor none = zeros({g.num_weights, grad.sizes()[1]}, {grad.dtype(), grad.device()});
    return scatter_add(none, 0, to(g.maximum_indices, kI64), grad);
  }
  Tensor grad = g.grad;
  if (mode == BagMode::Mean) grad = div(grad, to(clamp_min(g.bag_size, 1), grad.dtype()).unsqueeze(1));
  Tensor each = index_select(grad, 0, g.bag);
  if (g.per_sample_weights) each = mul(each, to(*g.per_sample_weights, each.dtype()).unsqueeze(1));
  return internal::embedding_dense_backward(each, to(g.indices, kI64), g.num_weights, g.padding_idx,
                                            g.scale_grad_by_freq);
}

}  // namespace pel
