// Images as [samples, channels, rows, columns]: read between their elements, and put together from blocks.
#pragma once

#include <cstdint>

#include "pellucid/tensor.h"

namespace pel {

// self[n, c] read at the places (x, y) = grid[n, i, j], numbers from -1 to 1 across the image: the centres of
// the corner elements under GridCorners::AreCentres, else its edges. interpolation_mode is 0 (bilinear), 1
// (nearest) or 2 (bicubic); padding_mode, for places outside, 0 (zeros), 1 (border) or 2 (reflection).
enum class GridCorners : bool { AreEdges, AreCentres };
PEL_API Tensor grid_sampler_2d(const Tensor& self, const Tensor& grid, std::int64_t interpolation_mode = 0,
                               std::int64_t padding_mode = 0,
                               GridCorners align_corners = GridCorners::AreEdges,
                               Site site = Site::current());
// Blocks of [samples, channels * places of a block, blocks] added where they stand in an image of
// output_size.
PEL_API Tensor col2im(const Tensor& self, Dims output_size, Dims kernel_size, Dims dilation, Dims padding,
                      Dims stride, Site site = Site::current());

}  // namespace pel
