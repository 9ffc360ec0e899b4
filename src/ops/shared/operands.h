// Operands that bodies of ops prepare for their kernels, without passing through dispatch.
#pragma once

#include <optional>

#include "pellucid/tensor.h"

#include "tensor/layout.h"

namespace pel {

// Of another dtype, or row-major: itself where it is, else a copy.
Tensor converted(const Tensor& t, DType dtype);
Tensor row_major(const Tensor& t);

// Whether two lists of sizes or strides are the same; symbolic ones are asked.
bool agree(Dims a, Dims b);
// Widens `sizes` to the sizes that both broadcast to. The axis of `sizes` at which they do not, or nothing.
std::optional<std::size_t> broadcast_clash(DimVector& sizes, Dims other);
// A view of these sizes, which t broadcasts to.
Tensor broadcast_view(const Tensor& t, Dims sizes);
// A vector as it broadcasts along one axis of `self`, which has as many elements.
Tensor vector_along(const Tensor& vector, const Tensor& self, std::int64_t axis);

}  // namespace pel
