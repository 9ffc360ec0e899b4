// What the embedding bags and their gradients share: modes, and the bag of each index.
#pragma once

#include <cstdint>
#include <optional>

#include "pellucid/ops/internal.h"
#include "pellucid/tensor.h"

namespace pel {

enum class BagMode : std::int64_t { Sum, Mean, Max };
BagMode check_bag_mode(std::int64_t mode, const std::optional<Tensor>& per_sample_weights);

// For each of `count` indices, the last bag that begins at or before it, as i64.
Tensor bag_of_each(const Tensor& starts, const Dim& count);

// The arguments of _embedding_bag that concern its results.
struct BagArguments {
  const Tensor &weight, &indices, &offsets;
  std::int64_t mode;
  const std::optional<Tensor>& per_sample_weights;
  IncludeLastOffset include_last_offset;
  std::int64_t padding_idx;
};
struct BagResults {
  Tensor bags, offset2bag, bag_size, max_indices;
};
// Offsets of which sums have bag_size: the beginnings of bags, or with the end that IncludeLastOffset names.
enum class SumSizes : bool { OfBags, OfOffsets };
BagResults run_embedding_bag(const BagArguments& arguments, SumSizes sum_sizes);

// The gradient of the table; `bag` is the bag of each index.
struct BagGradient {
  const Tensor &grad, &indices, &bag, &bag_size, &maximum_indices;
  Dim num_weights;
  ScaleGradByFreq scale_grad_by_freq;
  std::int64_t mode;
  const std::optional<Tensor>& per_sample_weights;
  std::int64_t padding_idx;
};
Tensor embedding_bag_gradient(const BagGradient& g);

}  // namespace pel
