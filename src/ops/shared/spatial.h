// What ops over [batch, channels, spatial axes…] share: numbers for each axis, sizes of windows, layouts.
#pragma once

#include <string_view>
#include <vector>

#include "pellucid/extend/op.h"

#include "base/small_vector.h"
#include "tensor/layout.h"

namespace pel {

inline constexpr int kMaxSpatialAxes = 3;
using SpatialNumbers = SmallVector<std::int64_t, kMaxSpatialAxes>;

// A number for each of `axes`, from as many or from one. Each must be at least `min`.
SpatialNumbers per_axis(std::string_view what, Ints given, std::size_t axes, std::int64_t min);

// An uninitialized result with the memory format of `like`: channels last, or row-major.
bool is_channels_last(const Tensor& t);
Tensor make_spatial(Dims sizes, const Tensor& like, DType dtype);
Tensor empty_spatial(Dims sizes, const Tensor& like, DType dtype);  // by an op, where no body runs

// [batch, channels, `axes` spatial ones]: a tensor without a batch gets one of 1. Anything else is refused.
Tensor with_batch(const Tensor& t, std::size_t axes);
// Takes the batch of 1 away again, where `like` has none.
Tensor as_batched(const Tensor& t, const Tensor& like);

// Each of the last axes multiplied by a matrix: [size, new size] for each of them, in their order.
Tensor along_last_axes(const Tensor& t, const std::vector<Tensor>& matrices);

}  // namespace pel
