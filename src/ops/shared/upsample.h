// What resampling ops share: sizes, scales, the launch.
#pragma once

#include <functional>
#include <optional>

#include "pellucid/ops/pooling.h"

#include "dispatch/op_table.h"

namespace pel {

// The number is the kernels'.
enum class Resampling : std::uint8_t { Nearest = 0, Bilinear = 1, Bicubic = 2 };
struct UpsampleNumbers {
  Resampling mode;
  AlignCorners align_corners;
  std::optional<double> scales_h, scales_w;
};
Tensor run_upsample(const Op& op, const Tensor& self, Dims output_size, const UpsampleNumbers& numbers);

// The gradient of `self`. Both axes are resampled by themselves, so `resample`, the op, tells what one does
// to the rows of a unit matrix: it is called with an image, sizes, and the scale of the last axis.
using Resample = std::function<Tensor(const Tensor& image, Dims output_size, std::optional<double> scale_w)>;
Tensor upsample_gradient(const Vjp& v, const Resample& resample);

}  // namespace pel
