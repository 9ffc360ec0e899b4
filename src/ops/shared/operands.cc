#include "ops/shared/operands.h"

#include <algorithm>

#include "base/check.h"
#include "dispatch/op_table.h"
#include "tensor/make.h"

namespace pel {

Tensor converted(const Tensor& t, DType dtype) {
  if (t.dtype() == dtype) return t;
  Tensor result = make_like(t, dtype, t.device());
  launch(op<"copy_">(), {result}, {t});
  return result;
}

Tensor row_major(const Tensor& t) {
  if (t.is_contiguous()) return t;
  Tensor result = make_dense(t.sizes(), t.dtype(), t.device());
  launch(op<"copy_">(), {result}, {t});
  return result;
}

bool agree(Dims a, Dims b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](Dim x, Dim y) { return x == y; });
}

std::optional<std::size_t> broadcast_clash(DimVector& sizes, Dims other) {
  while (sizes.size() < other.size()) sizes.insert(0, Dim(1));
  const std::size_t before = sizes.size() - other.size();
  for (std::size_t i = 0; i < other.size(); ++i) {
    Dim& size = sizes[before + i];
    if (Dim::identical(size, other[i]) || is_literally(other[i], 1)) continue;
    if (!is_literally(size, 1) && !(size == other[i])) {
      // Of two symbols that differ, one may be 1 in this call.
      if (other[i].is_symbolic() && other[i] == 1) continue;
      if (!size.is_symbolic() || size != 1) return before + i;
    }
    size = other[i];
  }
  return std::nullopt;
}

Tensor broadcast_view(const Tensor& t, Dims sizes) {
  if (identical(t.sizes(), sizes)) return t;
  const Expanded wide = expand_layout(t.sizes(), t.strides(), sizes);
  return make_view(t, wide.sizes, wide.strides);
}

Tensor vector_along(const Tensor& vector, const Tensor& self, std::int64_t axis) {
  PEL_CHECK(vector.dim() == 1 && vector.sizes()[0] == self.sizes()[static_cast<std::size_t>(axis)],
            ShapeError, "{} is not one number for each place of axis {} of {}", describe(vector), axis,
            describe(self));
  DimVector sizes, strides;
  for (std::int64_t i = axis; i < self.dim(); ++i) {
    sizes.push_back(i == axis ? vector.sizes()[0] : Dim(1));
    strides.push_back(i == axis ? vector.strides()[0] : Dim(0));
  }
  return make_view(vector, sizes, strides);
}

}  // namespace pel
