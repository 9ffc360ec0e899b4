// Models whose matmuls are divided among ranks (tensor parallelism).
#pragma once

#include "pellucid/nn/models.h"

namespace pel::nn {

// linear(x, weight), of which each rank computes the columns of its part of the vocabulary.
Tensor tied_logits(const Tensor& x, const Tensor& weight, const VocabularyShard& shard);

}  // namespace pel::nn
