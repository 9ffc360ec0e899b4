// Losses. Names and semantics are PyTorch's.
//
// A mean of no elements is NaN. f16 and bf16 are computed in f32 and rounded once, at the end.
#pragma once

#include <cstdint>
#include <optional>

#include "pellucid/enum_names.h"
#include "pellucid/tensor.h"

namespace pel {

// How the losses of elements become the result. BatchMean, for kl_div alone, is the sum divided by the first
// size.
enum class Reduction : std::uint8_t { None, Mean, Sum, BatchMean };
template <>
inline constexpr EnumNames<4> enum_names<Reduction> = {"reduction", {"none", "mean", "sum", "batchmean"}};

// -log softmax(self) at the target class of each row. A floating target with self's sizes holds probabilities
// of the classes instead. Classes are axis 1, or axis 0 of a vector. Each row is read once; no softmax is
// stored. Targets equal to ignore_index are ignored. A mean is weighted.
PEL_API Tensor cross_entropy(const Tensor& self, const Tensor& target,
                             const std::optional<Tensor>& weight = std::nullopt,
                             Reduction reduction = Reduction::Mean, std::int64_t ignore_index = -100,
                             double label_smoothing = 0, Site site = Site::current());
// The mean cross_entropy against classes in one kernel, with its bits, and one for the gradient.
PEL_API Tensor softmax_cross_entropy(const Tensor& self, const Tensor& target,
                                     std::int64_t ignore_index = -100, Site site = Site::current());
// cross_entropy(linear(input, weight), target) for input […, features], weight [classes, features] and a
// target for each row, with its bits. The logits exist for some rows at a time, and are computed again for
// the gradients: the memory does not depend on rows times classes.
PEL_API Tensor linear_cross_entropy(const Tensor& input, const Tensor& weight, const Tensor& target,
                                    std::int64_t ignore_index = -100, Site site = Site::current());
// cross_entropy of log-probabilities.
PEL_API Tensor nll_loss(const Tensor& self, const Tensor& target,
                        const std::optional<Tensor>& weight = std::nullopt,
                        Reduction reduction = Reduction::Mean, std::int64_t ignore_index = -100,
                        Site site = Site::current());

// Elementwise, with d = self - target; the two broadcast.
PEL_API Tensor mse_loss(const Tensor& self, const Tensor& target, Reduction reduction = Reduction::Mean,
                        Site site = Site::current());  // d^2
PEL_API Tensor l1_loss(const Tensor& self, const Tensor& target, Reduction reduction = Reduction::Mean,
                       Site site = Site::current());  // |d|
// d^2 / 2 for |d| < delta, linear beyond.
PEL_API Tensor huber_loss(const Tensor& self, const Tensor& target, Reduction reduction = Reduction::Mean,
                          double delta = 1, Site site = Site::current());
// huber_loss divided by beta, with delta = beta.
PEL_API Tensor smooth_l1_loss(const Tensor& self, const Tensor& target, Reduction reduction = Reduction::Mean,
                              double beta = 1, Site site = Site::current());

// -(pos_weight y log sigmoid(x) + (1 - y) log(1 - sigmoid(x))) weight, without overflow. The target has
// self's sizes; the weights broadcast.
PEL_API Tensor binary_cross_entropy_with_logits(const Tensor& self, const Tensor& target,
                                                const std::optional<Tensor>& weight = std::nullopt,
                                                const std::optional<Tensor>& pos_weight = std::nullopt,
                                                Reduction reduction = Reduction::Mean,
                                                Site site = Site::current());
// target (log target - self). LogTarget::Yes: `target` is a logarithm already.
enum class LogTarget : bool { No, Yes };
PEL_API Tensor kl_div(const Tensor& self, const Tensor& target, Reduction reduction = Reduction::Mean,
                      LogTarget log_target = LogTarget::No, Site site = Site::current());

// x1 x2 / (max(|x1|, eps) max(|x2|, eps)) along an axis; the two broadcast.
PEL_API Tensor cosine_similarity(const Tensor& x1, const Tensor& x2, std::int64_t axis = 1, double eps = 1e-8,
                                 Site site = Site::current());
// 1 - cosine if the target is 1, max(0, cosine - margin) if it is -1. Rows are the last axis.
PEL_API Tensor cosine_embedding_loss(const Tensor& input1, const Tensor& input2, const Tensor& target,
                                     double margin = 0, Reduction reduction = Reduction::Mean,
                                     Site site = Site::current());

}  // namespace pel
