// Rows that are shifted and scaled to a common mean and size, and what flows back through that.
#pragma once

#include <optional>
#include <tuple>

#include "pellucid/tensor.h"

namespace pel {

// (x - mean) / sqrt(var + eps) * weight + bias, over the last axes, whose sizes are `normalized_shape`.
PEL_API Tensor layer_norm(const Tensor& self, Dims normalized_shape,
                          const std::optional<Tensor>& weight = std::nullopt,
                          const std::optional<Tensor>& bias = std::nullopt, double eps = 1e-5,
                          Site site = Site::current());
// The same with the mean and 1 / sqrt(var + eps) of each row, in f32 for f16 and bf16.
PEL_API std::tuple<Tensor, Tensor, Tensor> native_layer_norm(
    const Tensor& self, Dims normalized_shape, const std::optional<Tensor>& weight = std::nullopt,
    const std::optional<Tensor>& bias = std::nullopt, double eps = 1e-5, Site site = Site::current());
// Gradients of self, weight and bias, from the gradient of the result and what native_layer_norm gave.
PEL_API std::tuple<Tensor, Tensor, Tensor> native_layer_norm_backward(
    const Tensor& grad, const Tensor& self, Dims normalized_shape, const Tensor& mean, const Tensor& rstd,
    const std::optional<Tensor>& weight = std::nullopt, Site site = Site::current());

// x / sqrt(mean(x^2) + eps) * weight. Without eps, the distance from 1 to the next number of the dtype.
PEL_API Tensor rms_norm(const Tensor& self, Dims normalized_shape,
                        const std::optional<Tensor>& weight = std::nullopt,
                        std::optional<double> eps = std::nullopt, Site site = Site::current());
// Gradients of self and weight.
PEL_API std::tuple<Tensor, Tensor> rms_norm_backward(const Tensor& grad, const Tensor& self,
                                                     Dims normalized_shape,
                                                     const std::optional<Tensor>& weight = std::nullopt,
                                                     std::optional<double> eps = std::nullopt,
                                                     Site site = Site::current());

}  // namespace pel
