// The gradients of a batch, each rank with those of its own elements: what accumulate() is made of.
#pragma once

#include <functional>
#include <vector>

#include "pellucid/distributed.h"

#include "distributed/partition.h"

namespace pel::dist {

// Parameters whose gradients are added in one dtype, and which rank owns which of their elements.
struct GradientBucket {
  DType dtype;
  std::vector<std::size_t> of;  // parameters
  Partition partition;
};
// Throws a ValueError if a parameter requires no gradient.
std::vector<GradientBucket> gradient_buckets(ArrayView<Tensor> parameters, int ranks);

struct OwnGradients {
  std::vector<Tensor> means;  // for each bucket, those of the elements that this rank owns
  Tensor losses;              // of all microbatches
};
OwnGradients accumulate_own(ArrayView<Tensor> parameters, const std::vector<GradientBucket>& buckets,
                            const Group& group, const AccumulateOptions& options,
                            const std::function<Tensor(std::int64_t microbatch)>& loss_of, Site site);

// The parts of all ranks, one after another, of which `own` is this rank's.
Tensor gather_parts(const Tensor& own, const Partition& partition, const Group& group);

}  // namespace pel::dist
