// What convolutions share: their numbers, the sizes of the result, the launch.
#pragma once

#include <optional>

#include "pellucid/ops/convolution.h"

#include "base/check.h"
#include "dispatch/op_table.h"
#include "ops/shared/spatial.h"
#include "tensor/make.h"

namespace pel {

struct ConvolutionNumbers {
  Ints stride, padding, dilation;
  Transposed transposed = Transposed::No;
  Dims output_padding;
  std::int64_t groups = 1;
};

// Checks, makes the result and launches. The input has a batch.
Tensor run_convolution(const Op& op, const Tensor& input, const Tensor& weight,
                       const std::optional<Tensor>& bias, const ConvolutionNumbers& numbers);

// conv1d and its like: over `axes` spatial axes, with or without a batch.
Tensor convolve(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias,
                std::size_t axes, const ConvolutionNumbers& numbers);

}  // namespace pel
