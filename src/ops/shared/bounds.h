// What the ops share that keep values above or below others.
#pragma once

#include "pellucid/tensor.h"

#include "ir/scalar.h"

namespace pel {

// The larger or smaller one; NaN if one of them is; `a` of equal ones.
scalar::Term max_or_nan(scalar::Term a, scalar::Term b);
scalar::Term min_or_nan(scalar::Term a, scalar::Term b);

enum class BoundSide : bool { Below, Above };  // where values are kept out of
// `bound` as an operand for values of `dtype`. An integer given as a number may be outside of the dtype's
// range: beyond the end where it excludes nothing it is moved to that end, beyond the other it is refused.
Tensor fit_bound(const Tensor& bound, DType dtype, BoundSide side);

}  // namespace pel
