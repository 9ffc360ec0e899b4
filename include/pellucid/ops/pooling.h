// Pooling and resampling of images. Names and semantics are PyTorch's. Tensors are [batch, channels, spatial
// axes…], the batch may be omitted; any strides. The result has the memory format of the input: channels last
// or row-major. kernel_size, stride, padding and dilation have one number for each spatial axis, or one for
// all; an empty stride is the kernel size.
#pragma once

#include <cstdint>
#include <optional>
#include <tuple>

#include "pellucid/tensor.h"

namespace pel {

// Yes: a window may begin inside the input or the left padding and end outside.
enum class CeilMode : bool { No, Yes };

// The max of each window; of equal elements the first, of NaNs the last. Indices are those of the flattened
// spatial axes.
PEL_API Tensor max_pool1d(const Tensor& self, Ints kernel_size, Ints stride = {}, Ints padding = {0},
                          Ints dilation = {1}, CeilMode ceil_mode = CeilMode::No,
                          Site site = Site::current());
PEL_API Tensor max_pool2d(const Tensor& self, Ints kernel_size, Ints stride = {}, Ints padding = {0},
                          Ints dilation = {1}, CeilMode ceil_mode = CeilMode::No,
                          Site site = Site::current());
PEL_API Tensor max_pool3d(const Tensor& self, Ints kernel_size, Ints stride = {}, Ints padding = {0},
                          Ints dilation = {1}, CeilMode ceil_mode = CeilMode::No,
                          Site site = Site::current());
PEL_API std::tuple<Tensor, Tensor> max_pool2d_with_indices(const Tensor& self, Ints kernel_size,
                                                           Ints stride = {}, Ints padding = {0},
                                                           Ints dilation = {1},
                                                           CeilMode ceil_mode = CeilMode::No,
                                                           Site site = Site::current());
PEL_API std::tuple<Tensor, Tensor> max_pool3d_with_indices(const Tensor& self, Ints kernel_size,
                                                           Ints stride = {}, Ints padding = {0},
                                                           Ints dilation = {1},
                                                           CeilMode ceil_mode = CeilMode::No,
                                                           Site site = Site::current());

// The mean of each window. Elements are added in the order of the window, f16 and bf16 in f32. The divisor is
// the number of elements with padding, or without it, or `divisor_override`.
enum class CountIncludePad : bool { No, Yes };
PEL_API Tensor avg_pool1d(const Tensor& self, Ints kernel_size, Ints stride = {}, Ints padding = {0},
                          CeilMode ceil_mode = CeilMode::No,
                          CountIncludePad count_include_pad = CountIncludePad::Yes,
                          Site site = Site::current());
PEL_API Tensor avg_pool2d(const Tensor& self, Ints kernel_size, Ints stride = {}, Ints padding = {0},
                          CeilMode ceil_mode = CeilMode::No,
                          CountIncludePad count_include_pad = CountIncludePad::Yes,
                          std::optional<std::int64_t> divisor_override = std::nullopt,
                          Site site = Site::current());
PEL_API Tensor avg_pool3d(const Tensor& self, Ints kernel_size, Ints stride = {}, Ints padding = {0},
                          CeilMode ceil_mode = CeilMode::No,
                          CountIncludePad count_include_pad = CountIncludePad::Yes,
                          std::optional<std::int64_t> divisor_override = std::nullopt,
                          Site site = Site::current());

// Windows for a result of `output_size`: from floor(i in / out) to ceil((i + 1) in / out).
PEL_API Tensor adaptive_avg_pool1d(const Tensor& self, Dims output_size, Site site = Site::current());
PEL_API Tensor adaptive_avg_pool2d(const Tensor& self, Dims output_size, Site site = Site::current());
PEL_API Tensor adaptive_avg_pool3d(const Tensor& self, Dims output_size, Site site = Site::current());
PEL_API std::tuple<Tensor, Tensor> adaptive_max_pool2d(const Tensor& self, Dims output_size,
                                                       Site site = Site::current());

// Resizing. With AlignCorners::Yes the corners of both images meet, otherwise the edges of their
// outermost pixels do. `scales` are the factors of size; by default the ratios of the sizes.
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

// self[n, c] read at the positions (x, y) = grid[n, i, j]. -1 and 1 are the centers of the corner elements
// with AlignCorners::Yes, else the edges of the image. `padding_mode` is for positions outside.
enum class GridInterpolation : std::int64_t { Bilinear = 0, Nearest = 1, Bicubic = 2 };
enum class GridPadding : std::int64_t { Zeros = 0, Border = 1, Reflection = 2 };
PEL_API Tensor grid_sampler_2d(const Tensor& self, const Tensor& grid,
                               GridInterpolation interpolation_mode = GridInterpolation::Bilinear,
                               GridPadding padding_mode = GridPadding::Zeros,
                               AlignCorners align_corners = AlignCorners::No, Site site = Site::current());
// Blocks of [samples, channels * elements of a block, blocks] added at their positions in an image of
// output_size.
PEL_API Tensor col2im(const Tensor& self, Dims output_size, Dims kernel_size, Dims dilation, Dims padding,
                      Dims stride, Site site = Site::current());

}  // namespace pel
