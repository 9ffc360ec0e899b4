// Whether two tensors, or two elements of one, share memory. Exact: interleaved slices do not overlap.
#pragma once

#include <cstdint>

#include "pellucid/extend/kernel_args.h"

namespace pel {

enum class Overlap : std::uint8_t { None, Same, Partial };
// Same: both address the same elements in the same order. Partial includes cases too hard to rule out.
Overlap overlap(const Operand& a, const Operand& b);

// Whether two indices address one element, as in an expanded tensor.
bool overlaps_itself(const Operand& a);

}  // namespace pel
