// Convolutions. Names and semantics are PyTorch's. Tensors are [batch, channels, spatial axes…]; the batch
// may be left out but in `convolution`. Operands have one dtype, any but bool, and any strides; the result
// lies as the input does, channels last where it is. f16 and bf16 are added in f32 and rounded once.
//
// A number for each spatial axis, or one for all of them. docs/numerics.md says what is promised about bits.
#pragma once

#include <cstdint>
#include <optional>
#include <tuple>

#include "pellucid/tensor.h"

namespace pel {

// Weight: [out, in / groups, kernel…]; transposed: [in, out / groups, kernel…]. One to three spatial axes.
enum class Transposed : bool { No, Yes };
PEL_API Tensor convolution(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias,
                           Axes stride, Axes padding, Axes dilation, Transposed transposed,
                           Dims output_padding, std::int64_t groups, Site site = Site::current());
// Gradients of input, weight and bias; those that `output_mask` has 0 for are undefined.
PEL_API std::tuple<Tensor, Tensor, Tensor> convolution_backward(
    const Tensor& grad_output, const Tensor& input, const Tensor& weight, std::optional<Dims> bias_sizes,
    Axes stride, Axes padding, Axes dilation, Transposed transposed, Dims output_padding, std::int64_t groups,
    Axes output_mask = {1, 1, 1}, Site site = Site::current());

PEL_API Tensor conv1d(const Tensor& input, const Tensor& weight,
                      const std::optional<Tensor>& bias = std::nullopt, Axes stride = {1}, Axes padding = {0},
                      Axes dilation = {1}, std::int64_t groups = 1, Site site = Site::current());
PEL_API Tensor conv2d(const Tensor& input, const Tensor& weight,
                      const std::optional<Tensor>& bias = std::nullopt, Axes stride = {1}, Axes padding = {0},
                      Axes dilation = {1}, std::int64_t groups = 1, Site site = Site::current());
PEL_API Tensor conv3d(const Tensor& input, const Tensor& weight,
                      const std::optional<Tensor>& bias = std::nullopt, Axes stride = {1}, Axes padding = {0},
                      Axes dilation = {1}, std::int64_t groups = 1, Site site = Site::current());

// What flows back through a convolution, as a layer. `output_padding` rows are added at the end.
PEL_API Tensor conv_transpose1d(const Tensor& input, const Tensor& weight,
                                const std::optional<Tensor>& bias = std::nullopt, Axes stride = {1},
                                Axes padding = {0}, Dims output_padding = {0}, std::int64_t groups = 1,
                                Axes dilation = {1}, Site site = Site::current());
PEL_API Tensor conv_transpose2d(const Tensor& input, const Tensor& weight,
                                const std::optional<Tensor>& bias = std::nullopt, Axes stride = {1},
                                Axes padding = {0}, Dims output_padding = {0}, std::int64_t groups = 1,
                                Axes dilation = {1}, Site site = Site::current());
PEL_API Tensor conv_transpose3d(const Tensor& input, const Tensor& weight,
                                const std::optional<Tensor>& bias = std::nullopt, Axes stride = {1},
                                Axes padding = {0}, Dims output_padding = {0}, std::int64_t groups = 1,
                                Axes dilation = {1}, Site site = Site::current());

}  // namespace pel
