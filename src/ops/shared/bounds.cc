#include "ops/shared/bounds.h"

#include <limits>

#include "base/check.h"
#include "ops/shared/pointwise.h"
#include "tensor/convert.h"
#include "tensor/element.h"

namespace pel {

Term max_or_nan(Term a, Term b) {
  return is_floating(a.type()) ? select(is_nan(b), b, max(b, a)) : max(b, a);
}
Term min_or_nan(Term a, Term b) {
  return is_floating(a.type()) ? select(is_nan(b), b, min(b, a)) : min(b, a);
}

Tensor fit_bound(const Tensor& bound, DType dtype, BoundSide side) {
  if (!is_integral(dtype) || !bound.header()->is_number || is_floating(bound.dtype()) || !bound.has_data())
    return bound;
  const std::int64_t value = load_element(bound.dtype(), bound.raw_data()).to_int();
  return with_type(dtype, [&]<class T>(std::type_identity<T>) -> Tensor {
    if constexpr (std::is_integral_v<T>) {
      constexpr std::int64_t kMin = std::numeric_limits<T>::min(), kMax = std::numeric_limits<T>::max();
      PEL_CHECK(side == BoundSide::Below ? value <= kMax : value >= kMin, ValueError,
                "the bound {} excludes every value of {}", value, name(dtype));
      if (value < kMin || value > kMax) return make_number(value < kMin ? kMin : kMax, bound.device());
    }
    return bound;
  });
}

}  // namespace pel
