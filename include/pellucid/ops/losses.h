// Losses. Names and semantics are PyTorch's.
//
// `reduction` is "none", "mean" or "sum". A mean of nothing is NaN. f16 and bf16 are computed in f32 and
// rounded once, at the end.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "pellucid/tensor.h"

namespace pel {

// -log softmax(self) at the class that each row's target names, or against probabilities of the classes where
// the target is floating and has self's sizes. Classes are axis 1, or axis 0 of a vector. Each row is read
// once; no softmax is stored. Targets equal to ignore_index count nothing. A mean is over the weights.
PEL_API Tensor cross_entropy(const Tensor& self, const Tensor& target,
                             const std::optional<Tensor>& weight = std::nullopt,
                             std::string_view reduction = "mean", std::int64_t ignore_index = -100,
                             double label_smoothing = 0, Site site = Site::current());
// What cross_entropy takes from each row x along an axis, in f32 for f16 and bf16: the greatest element g,
// log(sum e^(x - g)), and, where a target or label_smoothing is given, -sum(p log softmax(x)) for
// p = (target (1 - label_smoothing) + label_smoothing / classes) weight, without a target as if it were 0.
PEL_API std::vector<Tensor> cross_entropy_rows(const Tensor& self, std::int64_t axis,
                                               const std::optional<Tensor>& target = std::nullopt,
                                               const std::optional<Tensor>& weight = std::nullopt,
                                               double label_smoothing = 0, Site site = Site::current());
// softmax(x) (grad_log + grad_loss sum(p)) - grad_loss p along an axis: what flows back through the logarithm
// of the sum, and through the loss, whose p is that above. Gradients have the size 1 along the axis. They are
// in f32 for f16 and bf16.
PEL_API Tensor cross_entropy_rows_backward(const Tensor& grad_log, const std::optional<Tensor>& grad_loss,
                                           const Tensor& self, std::int64_t axis,
                                           const std::optional<Tensor>& target = std::nullopt,
                                           const std::optional<Tensor>& weight = std::nullopt,
                                           double label_smoothing = 0, Site site = Site::current());
// cross_entropy from log softmax(x), which is given.
PEL_API Tensor nll_loss(const Tensor& self, const Tensor& target,
                        const std::optional<Tensor>& weight = std::nullopt,
                        std::string_view reduction = "mean", std::int64_t ignore_index = -100,
                        Site site = Site::current());

// Of differences d = self - target, element by element; the two broadcast.
PEL_API Tensor mse_loss(const Tensor& self, const Tensor& target, std::string_view reduction = "mean",
                        Site site = Site::current());  // d^2
PEL_API Tensor l1_loss(const Tensor& self, const Tensor& target, std::string_view reduction = "mean",
                       Site site = Site::current());  // |d|
// d^2 / 2 up to delta, from there on the line that continues it.
PEL_API Tensor huber_loss(const Tensor& self, const Tensor& target, std::string_view reduction = "mean",
                          double delta = 1, Site site = Site::current());
// The same over beta.
PEL_API Tensor smooth_l1_loss(const Tensor& self, const Tensor& target, std::string_view reduction = "mean",
                              double beta = 1, Site site = Site::current());

// -(pos_weight y log sigmoid(x) + (1 - y) log(1 - sigmoid(x))) weight, without overflow. The target has
// self's sizes; the weights broadcast.
PEL_API Tensor binary_cross_entropy_with_logits(const Tensor& self, const Tensor& target,
                                                const std::optional<Tensor>& weight = std::nullopt,
                                                const std::optional<Tensor>& pos_weight = std::nullopt,
                                                std::string_view reduction = "mean",
                                                Site site = Site::current());
// target (log target - self), with log target given under LogTarget::Yes. "batchmean" is the sum over the
// first size.
enum class LogTarget : bool { No, Yes };
PEL_API Tensor kl_div(const Tensor& self, const Tensor& target, std::string_view reduction = "mean",
                      LogTarget log_target = LogTarget::No, Site site = Site::current());

// x1 x2 / (max(|x1|, eps) max(|x2|, eps)) along an axis; the two broadcast.
PEL_API Tensor cosine_similarity(const Tensor& x1, const Tensor& x2, std::int64_t axis = 1, double eps = 1e-8,
                                 Site site = Site::current());
// 1 - cosine where the target is 1, max(0, cosine - margin) where it is -1. Rows are the last axis.
PEL_API Tensor cosine_embedding_loss(const Tensor& input1, const Tensor& input2, const Tensor& target,
                                     double margin = 0, std::string_view reduction = "mean",
                                     Site site = Site::current());

}  // namespace pel
