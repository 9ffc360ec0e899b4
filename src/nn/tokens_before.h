#pragma once

#include "pellucid/nn/models.h"

namespace pel::nn {

// How many tokens the caches hold; checks that there is a cache for each layer, and room.
std::int64_t tokens_before(const KVCaches* caches, std::int64_t layers, const Tensor& tokens,
                           std::int64_t context);

}  // namespace pel::nn
