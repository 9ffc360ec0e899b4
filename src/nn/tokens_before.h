#pragma once

#include "pellucid/nn/models.h"

namespace pel::nn {

// Returns how many tokens the caches hold. Checks that there is one cache per layer and that `tokens` fit the
// context.
std::int64_t tokens_before(const KVCaches* caches, std::int64_t layers, const Tensor& tokens,
                           std::int64_t context);

}  // namespace pel::nn
