// Rows that are shifted and scaled to a common mean and size, and what flows back through that.
#pragma once

#include <cstdint>
#include <optional>
#include <tuple>

#include "pellucid/ops/random.h"  // Training
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

// Over batches: the mean and variance of each channel, axis 1. Outside training they are the running ones.
// In training they are self's own, and the running ones, where given, move towards them by `momentum`.
// Weights and statistics may be f32 beside an f16 or bf16 self. The result has self's layout.
PEL_API Tensor batch_norm(const Tensor& self, const std::optional<Tensor>& weight,
                          const std::optional<Tensor>& bias, const std::optional<Tensor>& running_mean,
                          const std::optional<Tensor>& running_var, Training training, double momentum = 0.1,
                          double eps = 1e-5, Site site = Site::current());
// The same with the mean and 1 / sqrt(var + eps) of each channel; outside training these are empty.
PEL_API std::tuple<Tensor, Tensor, Tensor> _native_batch_norm_legit(
    const Tensor& self, const std::optional<Tensor>& weight, const std::optional<Tensor>& bias,
    const std::optional<Tensor>& running_mean, const std::optional<Tensor>& running_var, Training training,
    double momentum = 0.1, double eps = 1e-5, Site site = Site::current());
PEL_API std::tuple<Tensor, Tensor, Tensor> _native_batch_norm_legit_no_training(
    const Tensor& self, const std::optional<Tensor>& weight, const std::optional<Tensor>& bias,
    const Tensor& running_mean, const Tensor& running_var, double momentum = 0.1, double eps = 1e-5,
    Site site = Site::current());
// The kernels of both. In training: the result, and of each channel the mean, 1 / sqrt(var + eps) and the
// variance over the count. Outside: (self - mean) * scale + bias.
PEL_API std::tuple<Tensor, Tensor, Tensor, Tensor> batch_norm_rows(
    const Tensor& self, const std::optional<Tensor>& weight = std::nullopt,
    const std::optional<Tensor>& bias = std::nullopt, double eps = 1e-5, Site site = Site::current());
PEL_API Tensor batch_norm_apply(const Tensor& self, const Tensor& mean, const Tensor& scale,
                                const std::optional<Tensor>& bias = std::nullopt,
                                Site site = Site::current());

// Over groups of channels, for each sample.
PEL_API Tensor group_norm(const Tensor& self, std::int64_t groups,
                          const std::optional<Tensor>& weight = std::nullopt,
                          const std::optional<Tensor>& bias = std::nullopt, double eps = 1e-5,
                          Site site = Site::current());
// The same with the mean and 1 / sqrt(var + eps) of each group, for a self of [samples, channels, …] with
// `size` elements in a channel.
PEL_API std::tuple<Tensor, Tensor, Tensor> native_group_norm(const Tensor& self,
                                                             const std::optional<Tensor>& weight,
                                                             const std::optional<Tensor>& bias, Dim samples,
                                                             Dim channels, Dim size, std::int64_t groups,
                                                             double eps = 1e-5, Site site = Site::current());
// Gradients of self, weight and bias.
PEL_API std::tuple<Tensor, Tensor, Tensor> native_group_norm_backward(const Tensor& grad, const Tensor& self,
                                                                      const Tensor& mean, const Tensor& rstd,
                                                                      const std::optional<Tensor>& weight,
                                                                      Dim samples, Dim channels, Dim size,
                                                                      std::int64_t groups,
                                                                      Site site = Site::current());

// Over each channel of each sample. Without UseInputStats it is batch_norm outside training; with it, the
// running statistics move towards the mean over the samples.
enum class UseInputStats : bool { No, Yes };
PEL_API Tensor instance_norm(const Tensor& self, const std::optional<Tensor>& weight = std::nullopt,
                             const std::optional<Tensor>& bias = std::nullopt,
                             const std::optional<Tensor>& running_mean = std::nullopt,
                             const std::optional<Tensor>& running_var = std::nullopt,
                             UseInputStats use_input_stats = UseInputStats::Yes, double momentum = 0.1,
                             double eps = 1e-5, Site site = Site::current());

// e^x / sum e^x along an axis, and its logarithm.
PEL_API Tensor softmax(const Tensor& self, std::int64_t axis, std::optional<DType> dtype = std::nullopt,
                       Site site = Site::current());
PEL_API Tensor log_softmax(const Tensor& self, std::int64_t axis, std::optional<DType> dtype = std::nullopt,
                           Site site = Site::current());
// What flows back through them: from the gradient of the result, and the result.
PEL_API Tensor softmax_backward(const Tensor& grad, const Tensor& result, std::int64_t axis,
                                Site site = Site::current());
PEL_API Tensor log_softmax_backward(const Tensor& grad, const Tensor& result, std::int64_t axis,
                                    Site site = Site::current());

}  // namespace pel
