// The one place where numbers of different ranks are added.
#pragma once

#include <cstddef>
#include <cstdint>

#include "pellucid/array_view.h"
#include "pellucid/dtype.h"

namespace pel::dist {

// dst[i] = the sum of srcs[0][i], srcs[1][i], … by a fixed tree: neighbours are added, then neighbours of
// these sums; one without a neighbour moves up. So bits depend on the number of ranks and on nothing else.
// f16 and bf16 are added in f32 and rounded once; integers wrap.
void tree_sum(DType dtype, std::byte* dst, ArrayView<const std::byte*> srcs, std::int64_t count);

}  // namespace pel::dist
