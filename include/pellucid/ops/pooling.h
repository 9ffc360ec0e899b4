// Pooling and resampling of images. Names and semantics are PyTorch's. Tensors are [batch, channels, spatial
// axes…], the batch may be left out; any strides. The result lies as the input does, channels last where it
// is. A number for each spatial axis, or one for all of them; an empty stride is the size of the window.
#pragma once

#include <cstdint>
#include <optional>
#include <tuple>

#include "pellucid/tensor.h"

namespace pel {

// With Yes a window may begin inside and end outside of input and left padding.
enum class CeilMode : bool { No, Yes };

// The greatest element of each window; of equal ones the first, and the last NaN. Indices are those of the
// flattened spatial axes.
PEL_API Tensor max_pool1d(const Tensor& self, Axes kernel_size, Axes stride = {}, Axes padding = {0},
                          Axes dilation = {1}, CeilMode ceil_mode = CeilMode::No,
                          Site site = Site::current());
PEL_API Tensor max_pool2d(const Tensor& self, Axes kernel_size, Axes stride = {}, Axes padding = {0},
                          Axes dilation = {1}, CeilMode ceil_mode = CeilMode::No,
                          Site site = Site::current());
PEL_API Tensor max_pool3d(const Tensor& self, Axes kernel_size, Axes stride = {}, Axes padding = {0},
                          Axes dilation = {1}, CeilMode ceil_mode = CeilMode::No,
                          Site site = Site::current());
PEL_API std::tuple<Tensor, Tensor> max_pool2d_with_indices(const Tensor& self, Axes kernel_size,
                                                           Axes stride = {}, Axes padding = {0},
                                                           Axes dilation = {1},
                                                           CeilMode ceil_mode = CeilMode::No,
                                                           Site site = Site::current());
PEL_API std::tuple<Tensor, Tensor> max_pool3d_with_indices(const Tensor& self, Axes kernel_size,
                                                           Axes stride = {}, Axes padding = {0},
                                                           Axes dilation = {1},
                                                           CeilMode ceil_mode = CeilMode::No,
                                                           Site site = Site::current());
PEL_API Tensor max_pool2d_with_indices_backward(const Tensor& grad_output, const Tensor& self,
                                                Axes kernel_size, Axes stride, Axes padding, Axes dilation,
                                                CeilMode ceil_mode, const Tensor& indices,
                                                Site site = Site::current());

// The mean of each window. Elements are added in the order of the window, f16 and bf16 in f32. What is
// divided by is the window with its padding, or without it, or `divisor_override`.
enum class CountIncludePad : bool { No, Yes };
PEL_API Tensor avg_pool1d(const Tensor& self, Axes kernel_size, Axes stride = {}, Axes padding = {0},
                          CeilMode ceil_mode = CeilMode::No,
                          CountIncludePad count_include_pad = CountIncludePad::Yes,
                          Site site = Site::current());
PEL_API Tensor avg_pool2d(const Tensor& self, Axes kernel_size, Axes stride = {}, Axes padding = {0},
                          CeilMode ceil_mode = CeilMode::No,
                          CountIncludePad count_include_pad = CountIncludePad::Yes,
                          std::optional<std::int64_t> divisor_override = std::nullopt,
                          Site site = Site::current());
PEL_API Tensor avg_pool3d(const Tensor& self, Axes kernel_size, Axes stride = {}, Axes padding = {0},
                          CeilMode ceil_mode = CeilMode::No,
                          CountIncludePad count_include_pad = CountIncludePad::Yes,
                          std::optional<std::int64_t> divisor_override = std::nullopt,
                          Site site = Site::current());
PEL_API Tensor avg_pool2d_backward(const Tensor& grad_output, const Tensor& self, Axes kernel_size,
                                   Axes stride, Axes padding, CeilMode ceil_mode,
                                   CountIncludePad count_include_pad,
                                   std::optional<std::int64_t> divisor_override = std::nullopt,
                                   Site site = Site::current());

// Windows such that the result has the sizes asked for: from floor(i in / out) to ceil((i + 1) in / out).
PEL_API Tensor adaptive_avg_pool1d(const Tensor& self, Dims output_size, Site site = Site::current());
PEL_API Tensor adaptive_avg_pool2d(const Tensor& self, Dims output_size, Site site = Site::current());
PEL_API Tensor adaptive_avg_pool3d(const Tensor& self, Dims output_size, Site site = Site::current());
PEL_API Tensor adaptive_avg_pool2d_backward(const Tensor& grad_output, const Tensor& self,
                                            Site site = Site::current());
PEL_API std::tuple<Tensor, Tensor> adaptive_max_pool2d(const Tensor& self, Dims output_size,
                                                       Site site = Site::current());

// Images of another size. With AlignCorners the corners of both images meet, otherwise the edges of their
// outermost pixels do. `scales` are how much larger the result is; without, the sizes say it.
enum class AlignCorners : bool { No, Yes };
PEL_API Tensor upsample_nearest2d(const Tensor& self, Dims output_size,
                                  std::optional<double> scales_h = std::nullopt,
                                  std::optional<double> scales_w = std::nullopt, Site site = Site::current());
PEL_API Tensor upsample_bilinear2d(const Tensor& self, Dims output_size, AlignCorners align_corners,
                                   std::optional<double> scales_h = std::nullopt,
                                   std::optional<double> scales_w = std::nullopt,
                                   Site site = Site::current());
PEL_API Tensor upsample_bicubic2d(const Tensor& self, Dims output_size, AlignCorners align_corners,
                                  std::optional<double> scales_h = std::nullopt,
                                  std::optional<double> scales_w = std::nullopt, Site site = Site::current());

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
