// What resampling ops share: sizes, scales, the launch.
#pragma once

#include "pellucid/pooling.h"

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

}  // namespace pel
