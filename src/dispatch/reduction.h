// The record of a reduction: how two values combine, and from what one starts.
#pragma once

#include <functional>

#include "pellucid/dtype.h"

#include "ir/scalar.h"

namespace pel {

struct Reduction {
  // The type in which elements of a dtype are combined. f16 and bf16 are combined in f32 and rounded once.
  std::function<DType(DType dtype)> value_type;
  std::function<scalar::Term(scalar::Term a, scalar::Term b)> combine;
  double initial = 0;  // combines with any value to that value
  DTypeSet takes = kAllDTypes;
};

// One element as a value, and two values as one.
scalar::ScalarExpr element_expr(const Reduction& reduction, DType dtype);
scalar::ScalarExpr combine_expr(const Reduction& reduction, DType value_type);
std::uint64_t initial_bits(const Reduction& reduction, DType value_type);

}  // namespace pel
