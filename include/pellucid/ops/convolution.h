// Convolutions. Names and semantics are PyTorch's. Tensors are [batch, channels, spatial axes…]; the batch
// may be omitted except in `convolution`. Operands have one dtype, any but bool, and any strides; the result
// has the memory format of the input: channels last or row-major. f16 and bf16 accumulate in f32 and round
// once.
//
// stride, padding and dilation have one number for each spatial axis, or one for all. docs/numerics.md says
// what is guaranteed about bits.
#pragma once

#include <cstdint>
#include <optional>

#include "pellucid/tensor.h"

namespace pel {

// Weight: [out, in / groups, kernel…]; transposed: [in, out / groups, kernel…]. One to three spatial axes.
enum class Transposed : bool { No, Yes };
PEL_API Tensor convolution(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias,
                           Ints stride, Ints padding, Ints dilation, Transposed transposed,
                           Dims output_padding, std::int64_t groups, Site site = Site::current());

PEL_API Tensor conv1d(const Tensor& input, const Tensor& weight,
                      const std::optional<Tensor>& bias = std::nullopt, Ints stride = {1}, Ints padding = {0},
                      Ints dilation = {1}, std::int64_t groups = 1, Site site = Site::current());
PEL_API Tensor conv2d(const Tensor& input, const Tensor& weight,
                      const std::optional<Tensor>& bias = std::nullopt, Ints stride = {1}, Ints padding = {0},
                      Ints dilation = {1}, std::int64_t groups = 1, Site site = Site::current());
PEL_API Tensor conv3d(const Tensor& input, const Tensor& weight,
                      const std::optional<Tensor>& bias = std::nullopt, Ints stride = {1}, Ints padding = {0},
                      Ints dilation = {1}, std::int64_t groups = 1, Site site = Site::current());

// Transposed convolutions: the gradient of a convolution with respect to its input. `output_padding` is added
// to the output size at the end of each axis.
PEL_API Tensor conv_transpose1d(const Tensor& input, const Tensor& weight,
                                const std::optional<Tensor>& bias = std::nullopt, Ints stride = {1},
                                Ints padding = {0}, Dims output_padding = {0}, std::int64_t groups = 1,
                                Ints dilation = {1}, Site site = Site::current());
PEL_API Tensor conv_transpose2d(const Tensor& input, const Tensor& weight,
                                const std::optional<Tensor>& bias = std::nullopt, Ints stride = {1},
                                Ints padding = {0}, Dims output_padding = {0}, std::int64_t groups = 1,
                                Ints dilation = {1}, Site site = Site::current());
PEL_API Tensor conv_transpose3d(const Tensor& input, const Tensor& weight,
                                const std::optional<Tensor>& bias = std::nullopt, Ints stride = {1},
                                Ints padding = {0}, Dims output_padding = {0}, std::int64_t groups = 1,
                                Ints dilation = {1}, Site site = Site::current());

}  // namespace pel
