// Normalization: layer, RMS, batch, group and instance norm, softmax.
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

// x / sqrt(mean(x^2) + eps) * weight. The default eps is the machine epsilon of the dtype.
PEL_API Tensor rms_norm(const Tensor& self, Dims normalized_shape,
                        const std::optional<Tensor>& weight = std::nullopt,
                        std::optional<double> eps = std::nullopt, Site site = Site::current());

// rms_norm(self + other) and self + other in one kernel: the end of one block of a transformer and the begin
// of the next. Both have one dtype and the same sizes.
PEL_API std::tuple<Tensor, Tensor> add_rms_norm(const Tensor& self, const Tensor& other,
                                                Dims normalized_shape,
                                                const std::optional<Tensor>& weight = std::nullopt,
                                                std::optional<double> eps = std::nullopt,
                                                Site site = Site::current());

// layer_norm(self + other) and self + other, likewise.
PEL_API std::tuple<Tensor, Tensor> add_layer_norm(const Tensor& self, const Tensor& other,
                                                  Dims normalized_shape,
                                                  const std::optional<Tensor>& weight = std::nullopt,
                                                  const std::optional<Tensor>& bias = std::nullopt,
                                                  double eps = 1e-5, Site site = Site::current());

// Over batches: normalizes by the mean and variance of each channel, axis 1. Outside training they are the
// running ones. In training they are those of self, and running statistics, if any, move towards them by
// `momentum`. Weights and statistics may be f32 for an f16 or bf16 self. The result has self's layout.
PEL_API Tensor batch_norm(const Tensor& self, const std::optional<Tensor>& weight,
                          const std::optional<Tensor>& bias, const std::optional<Tensor>& running_mean,
                          const std::optional<Tensor>& running_var, Training training, double momentum = 0.1,
                          double eps = 1e-5, Site site = Site::current());

// Over groups of channels, for each sample.
PEL_API Tensor group_norm(const Tensor& self, std::int64_t num_groups,
                          const std::optional<Tensor>& weight = std::nullopt,
                          const std::optional<Tensor>& bias = std::nullopt, double eps = 1e-5,
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
// softmax in which a row of -inf alone becomes zeros, not NaN: PyTorch's _safe_softmax.
PEL_API Tensor safe_softmax(const Tensor& self, std::int64_t axis, std::optional<DType> dtype = std::nullopt,
                            Site site = Site::current());

}  // namespace pel
