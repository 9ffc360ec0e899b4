// Tensors made from sizes and numbers. Names and semantics are PyTorch's.
#pragma once

#include <cstdint>
#include <optional>

#include "pellucid/tensor.h"

namespace pel {

// Creation. The default dtype is f32, or follows from the numbers.
PEL_API Tensor empty(Dims size, TensorOptions options = {}, Site site = Site::current());
PEL_API Tensor empty_strided(Dims size, Dims stride, TensorOptions options = {}, Site site = Site::current());
// Dense, with the axes in this order in memory: {0, 2, 3, 1} is channels last.
PEL_API Tensor empty_permuted(Dims size, Axes physical_layout, TensorOptions options = {},
                              Site site = Site::current());
PEL_API Tensor empty_like(const Tensor& self, TensorOptions options = {}, Site site = Site::current());
PEL_API Tensor zeros(Dims size, TensorOptions options = {}, Site site = Site::current());
PEL_API Tensor ones(Dims size, TensorOptions options = {}, Site site = Site::current());
PEL_API Tensor full(Dims size, const Scalar& fill_value, TensorOptions options = {},
                    Site site = Site::current());
PEL_API Tensor zeros_like(const Tensor& self, TensorOptions options = {}, Site site = Site::current());
PEL_API Tensor ones_like(const Tensor& self, TensorOptions options = {}, Site site = Site::current());
PEL_API Tensor full_like(const Tensor& self, const Scalar& fill_value, TensorOptions options = {},
                         Site site = Site::current());
// start, start + step, … up to but not including end. i64 if all are integers.
PEL_API Tensor arange(const Scalar& end, TensorOptions options = {}, Site site = Site::current());
PEL_API Tensor arange(const Scalar& start, const Scalar& end, const Scalar& step = 1,
                      TensorOptions options = {}, Site site = Site::current());
// `steps` values from start to end, both included.
PEL_API Tensor linspace(const Scalar& start, const Scalar& end, std::int64_t steps,
                        TensorOptions options = {}, Site site = Site::current());
// Ones on the main diagonal.
PEL_API Tensor eye(Dim n, std::optional<Dim> m = std::nullopt, TensorOptions options = {},
                   Site site = Site::current());

}  // namespace pel
