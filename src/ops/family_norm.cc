#include "ops/family_norm.h"

#include "base/check.h"
#include "tensor/make.h"

namespace pel {

AxisSet normalized_axes(const Tensor& self, Dims normalized_shape) {
  const std::size_t rank = self.sizes().size(), count = normalized_shape.size();
  bool fits = count >= 1 && count <= rank;
  for (std::size_t i = 0; fits && i < count; ++i)
    fits = self.sizes()[rank - count + i] == normalized_shape[i];
  PEL_CHECK(fits, ShapeError, "normalized_shape {} is not how the sizes of {} end",
            to_string(normalized_shape), describe(self));
  return axis_set(self, Axes()) & ~((AxisSet{1} << (rank - count)) - 1);
}

}  // namespace pel
