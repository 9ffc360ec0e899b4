// Ops that other ops are made of: forward ops that also return what a gradient needs, gradients of ops, and
// the parts of composite ops. They are registered, profiled and compiled like all others, but are not meant
// for users: a signature here may change in any version. Names are PyTorch's if PyTorch has the op.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "pellucid/ops/activations.h"
#include "pellucid/ops/attention.h"
#include "pellucid/ops/convolution.h"
#include "pellucid/ops/linalg.h"
#include "pellucid/ops/pooling.h"
#include "pellucid/ops/random.h"

namespace pel {

// Which of the N results of a gradient are wanted. The others are undefined.
template <std::size_t N>
using OutputMask = std::array<bool, N>;

// Of embedding tables.
enum class ScaleGradByFreq : bool { No, Yes };
enum class Sparse : bool { No, Yes };
enum class IncludeLastOffset : bool { No, Yes };

namespace internal {

// Activations: the gradient of the argument, from the argument or the result.
PEL_API Tensor gelu_backward(const Tensor& grad, const Tensor& self,
                             GeluApproximate approximate = GeluApproximate::None,
                             Site site = Site::current());
PEL_API Tensor silu_backward(const Tensor& grad, const Tensor& self, Site site = Site::current());
PEL_API Tensor sigmoid_backward(const Tensor& grad, const Tensor& result, Site site = Site::current());
PEL_API Tensor tanh_backward(const Tensor& grad, const Tensor& result, Site site = Site::current());
// grad if self is above the threshold, else 0.
PEL_API Tensor threshold_backward(const Tensor& grad, const Tensor& self, const Scalar& threshold,
                                  Site site = Site::current());

// Attention over [batch, heads, rows, columns], with log(sum(e^score)) of each query, which the gradient
// needs; in f32 for f16 and bf16. The heads of query are a multiple of those of key and value.
PEL_API std::tuple<Tensor, Tensor> attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                             const std::optional<Tensor>& attn_mask = std::nullopt,
                                             Causal causal = Causal::No,
                                             std::optional<double> scale = std::nullopt,
                                             std::optional<std::int64_t> window = std::nullopt,
                                             Site site = Site::current());
// Gradients of query, key, value and of an attn_mask that is added. Scores are recomputed, some rows of
// queries at a time.
PEL_API std::tuple<Tensor, Tensor, Tensor, Tensor> attention_backward(
    const Tensor& grad, const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& result,
    const Tensor& logsumexp, const std::optional<Tensor>& attn_mask = std::nullopt,
    Causal causal = Causal::No, std::optional<double> scale = std::nullopt,
    std::optional<std::int64_t> window = std::nullopt,
    const std::optional<Tensor>& grad_logsumexp = std::nullopt,
    OutputMask<4> output_mask = {true, true, true, false}, Site site = Site::current());
// self cos + sign other sin, elementwise: one coordinate of a rotated point.
PEL_API Tensor rotate_pair(const Tensor& self, const Tensor& other, const Tensor& cos, const Tensor& sin,
                           const Scalar& sign = 1, Site site = Site::current());
PEL_API const Tensor& rotate_pair_out(const Tensor& out, const Tensor& self, const Tensor& other,
                                      const Tensor& cos, const Tensor& sin, const Scalar& sign = 1,
                                      Site site = Site::current());

// fused_linear of [rows, in], and linear(input, weight, bias), which the gradient needs: empty unless saved.
enum class SavesLinear : bool { No, Yes };
PEL_API std::tuple<Tensor, Tensor> native_fused_linear(const Tensor& input, const Tensor& weight,
                                                       const std::optional<Tensor>& bias = std::nullopt,
                                                       LinearActivation activation = LinearActivation::None,
                                                       const std::optional<Tensor>& residual = std::nullopt,
                                                       SavesLinear saves_linear = SavesLinear::No,
                                                       Site site = Site::current());

// Gradients of input, weight and bias.
PEL_API std::tuple<Tensor, Tensor, Tensor> convolution_backward(
    const Tensor& grad_output, const Tensor& input, const Tensor& weight, std::optional<Dims> bias_sizes,
    Ints stride, Ints padding, Ints dilation, Transposed transposed, Dims output_padding, std::int64_t groups,
    OutputMask<3> output_mask = {true, true, true}, Site site = Site::current());

// Gradients of pooling. `self` gives the sizes.
PEL_API Tensor max_pool2d_with_indices_backward(const Tensor& grad_output, const Tensor& self,
                                                Ints kernel_size, Ints stride, Ints padding, Ints dilation,
                                                CeilMode ceil_mode, const Tensor& indices,
                                                Site site = Site::current());
PEL_API Tensor avg_pool2d_backward(const Tensor& grad_output, const Tensor& self, Ints kernel_size,
                                   Ints stride, Ints padding, CeilMode ceil_mode,
                                   CountIncludePad count_include_pad,
                                   std::optional<std::int64_t> divisor_override = std::nullopt,
                                   Site site = Site::current());
PEL_API Tensor adaptive_avg_pool2d_backward(const Tensor& grad_output, const Tensor& self,
                                            Site site = Site::current());

// The gradient of an embedding table of `num_weights` rows. The row padding_idx gets none; with
// ScaleGradByFreq each is divided by the number of times it was read.
PEL_API Tensor embedding_dense_backward(const Tensor& grad, const Tensor& indices, Dim num_weights,
                                        std::int64_t padding_idx = -1,
                                        ScaleGradByFreq scale_grad_by_freq = ScaleGradByFreq::No,
                                        Site site = Site::current());
// Rows of a table reduced in bags by sum (mode 0), mean (1) or max (2). Bags begin at the offsets; with
// IncludeLastOffset the last offset is the end. Returns the bags, and what PyTorch's gradients read, in the
// dtype of the offsets: the bag of each index, or nothing for sums of dense f32 or f16 rows without padding;
// the number of indices in each bag, or zeros for sums; for max the rows that the maxima came from, else the
// numbers again. scale_grad_by_freq and sparse only concern gradients.
PEL_API std::tuple<Tensor, Tensor, Tensor, Tensor> _embedding_bag(
    const Tensor& weight, const Tensor& indices, const Tensor& offsets,
    ScaleGradByFreq scale_grad_by_freq = ScaleGradByFreq::No, std::int64_t mode = 0,
    Sparse sparse = Sparse::No, const std::optional<Tensor>& per_sample_weights = std::nullopt,
    IncludeLastOffset include_last_offset = IncludeLastOffset::No, std::int64_t padding_idx = -1,
    Site site = Site::current());
// The same; for sums, the third and fourth result have an element for each offset.
PEL_API std::tuple<Tensor, Tensor, Tensor, Tensor> _embedding_bag_forward_only(
    const Tensor& weight, const Tensor& indices, const Tensor& offsets,
    ScaleGradByFreq scale_grad_by_freq = ScaleGradByFreq::No, std::int64_t mode = 0,
    Sparse sparse = Sparse::No, const std::optional<Tensor>& per_sample_weights = std::nullopt,
    IncludeLastOffset include_last_offset = IncludeLastOffset::No, std::int64_t padding_idx = -1,
    Site site = Site::current());
// The gradient of its table, of `num_weights` rows, from the results of _embedding_bag; and that of the
// weights of samples. The first finds the bags by the offsets if offset2bag is empty. Gradients are dense:
// sparse is refused.
PEL_API Tensor _embedding_bag_backward(const Tensor& grad, const Tensor& indices, const Tensor& offsets,
                                       const Tensor& offset2bag, const Tensor& bag_size,
                                       const Tensor& maximum_indices, Dim num_weights,
                                       ScaleGradByFreq scale_grad_by_freq, std::int64_t mode, Sparse sparse,
                                       const std::optional<Tensor>& per_sample_weights,
                                       std::int64_t padding_idx = -1, Site site = Site::current());
PEL_API Tensor _embedding_bag_dense_backward(const Tensor& grad, const Tensor& indices,
                                             const Tensor& offset2bag, const Tensor& bag_size,
                                             const Tensor& maximum_indices, Dim num_weights,
                                             ScaleGradByFreq scale_grad_by_freq, std::int64_t mode,
                                             const std::optional<Tensor>& per_sample_weights,
                                             std::int64_t padding_idx = -1, Site site = Site::current());
PEL_API Tensor _embedding_bag_per_sample_weights_backward(const Tensor& grad, const Tensor& weight,
                                                          const Tensor& indices, const Tensor& offsets,
                                                          const Tensor& offset2bag, std::int64_t mode,
                                                          std::int64_t padding_idx = -1,
                                                          Site site = Site::current());

// The row reductions of cross_entropy for each row x along an axis, in f32 for f16 and bf16: max(x),
// log(sum e^(x - max)) and, with a target or label_smoothing, -sum(p log softmax(x)) for
// p = (target (1 - label_smoothing) + label_smoothing / classes) weight. Without a target it counts as 0.
PEL_API std::vector<Tensor> cross_entropy_rows(const Tensor& self, std::int64_t axis,
                                               const std::optional<Tensor>& target = std::nullopt,
                                               const std::optional<Tensor>& weight = std::nullopt,
                                               double label_smoothing = 0, Site site = Site::current());
// The gradient of self: softmax(x) (grad_log + grad_loss sum(p)) - grad_loss p along an axis, with the p
// above. grad_log and grad_loss have size 1 along the axis, and are f32 for f16 and bf16.
PEL_API Tensor cross_entropy_rows_backward(const Tensor& grad_log, const std::optional<Tensor>& grad_loss,
                                           const Tensor& self, std::int64_t axis,
                                           const std::optional<Tensor>& target = std::nullopt,
                                           const std::optional<Tensor>& weight = std::nullopt,
                                           double label_smoothing = 0, Site site = Site::current());

// softmax_cross_entropy, with the count of rows that are not ignored, in f32 for f16 and bf16; and the
// gradient of self.
PEL_API std::tuple<Tensor, Tensor> native_softmax_cross_entropy(const Tensor& self, const Tensor& target,
                                                                std::int64_t ignore_index = -100,
                                                                Site site = Site::current());
PEL_API Tensor softmax_cross_entropy_backward(const Tensor& grad, const Tensor& self, const Tensor& target,
                                              const Tensor& count, std::int64_t ignore_index = -100,
                                              Site site = Site::current());
// linear_cross_entropy of [rows, features], with the same count, and the max and 1 / sum(e^(x - max)) of each
// row of logits; and the gradients of input and weight.
PEL_API std::tuple<Tensor, Tensor, Tensor, Tensor> native_linear_cross_entropy(
    const Tensor& input, const Tensor& weight, const Tensor& target, std::int64_t ignore_index = -100,
    Site site = Site::current());
PEL_API std::tuple<Tensor, Tensor> linear_cross_entropy_backward(const Tensor& grad, const Tensor& input,
                                                                 const Tensor& weight, const Tensor& target,
                                                                 const Tensor& count, const Tensor& largest,
                                                                 const Tensor& scale,
                                                                 std::int64_t ignore_index = -100,
                                                                 Site site = Site::current());

// layer_norm, with the mean and 1 / sqrt(var + eps) of each row, in f32 for f16 and bf16; and the gradients
// of self, weight and bias.
PEL_API std::tuple<Tensor, Tensor, Tensor> native_layer_norm(
    const Tensor& self, Dims normalized_shape, const std::optional<Tensor>& weight = std::nullopt,
    const std::optional<Tensor>& bias = std::nullopt, double eps = 1e-5, Site site = Site::current());
PEL_API std::tuple<Tensor, Tensor, Tensor> native_layer_norm_backward(
    const Tensor& grad, const Tensor& self, Dims normalized_shape, const Tensor& mean, const Tensor& rstd,
    const std::optional<Tensor>& weight = std::nullopt, Site site = Site::current());
// native_layer_norm of self + other; the sum is the fourth result.
PEL_API std::tuple<Tensor, Tensor, Tensor, Tensor> native_add_layer_norm(
    const Tensor& self, const Tensor& other, Dims normalized_shape,
    const std::optional<Tensor>& weight = std::nullopt, const std::optional<Tensor>& bias = std::nullopt,
    double eps = 1e-5, Site site = Site::current());
// Gradients of self and weight.
PEL_API std::tuple<Tensor, Tensor> rms_norm_backward(const Tensor& grad, const Tensor& self,
                                                     Dims normalized_shape,
                                                     const std::optional<Tensor>& weight = std::nullopt,
                                                     std::optional<double> eps = std::nullopt,
                                                     Site site = Site::current());
// batch_norm, with the mean and 1 / sqrt(var + eps) of each channel; outside training these are empty.
PEL_API std::tuple<Tensor, Tensor, Tensor> _native_batch_norm_legit(
    const Tensor& self, const std::optional<Tensor>& weight, const std::optional<Tensor>& bias,
    const std::optional<Tensor>& running_mean, const std::optional<Tensor>& running_var, Training training,
    double momentum = 0.1, double eps = 1e-5, Site site = Site::current());
PEL_API std::tuple<Tensor, Tensor, Tensor> _native_batch_norm_legit_no_training(
    const Tensor& self, const std::optional<Tensor>& weight, const std::optional<Tensor>& bias,
    const Tensor& running_mean, const Tensor& running_var, double momentum = 0.1, double eps = 1e-5,
    Site site = Site::current());
// The kernels of both. In training: the result, and for each channel the mean, 1 / sqrt(var + eps) and the
// biased variance. Outside: (self - mean) * scale + bias.
PEL_API std::tuple<Tensor, Tensor, Tensor, Tensor> batch_norm_rows(
    const Tensor& self, const std::optional<Tensor>& weight = std::nullopt,
    const std::optional<Tensor>& bias = std::nullopt, double eps = 1e-5, Site site = Site::current());
PEL_API Tensor batch_norm_apply(const Tensor& self, const Tensor& mean, const Tensor& scale,
                                const std::optional<Tensor>& bias = std::nullopt,
                                Site site = Site::current());
// group_norm of [N, C, …] with HxW elements in a channel, with the mean and 1 / sqrt(var + eps) of each
// group; and the gradients of self, weight and bias.
PEL_API std::tuple<Tensor, Tensor, Tensor> native_group_norm(const Tensor& self,
                                                             const std::optional<Tensor>& weight,
                                                             const std::optional<Tensor>& bias, Dim samples,
                                                             Dim channels, Dim size, std::int64_t groups,
                                                             double eps = 1e-5, Site site = Site::current());
PEL_API std::tuple<Tensor, Tensor, Tensor> native_group_norm_backward(const Tensor& grad, const Tensor& self,
                                                                      const Tensor& mean, const Tensor& rstd,
                                                                      const std::optional<Tensor>& weight,
                                                                      Dim samples, Dim channels, Dim size,
                                                                      std::int64_t groups,
                                                                      Site site = Site::current());
// Gradients, from that of the result and the result.
PEL_API Tensor softmax_backward(const Tensor& grad, const Tensor& result, std::int64_t axis,
                                Site site = Site::current());
PEL_API Tensor log_softmax_backward(const Tensor& grad, const Tensor& result, std::int64_t axis,
                                    Site site = Site::current());

// dropout, with a mask of the elements that were not dropped.
PEL_API std::tuple<Tensor, Tensor> native_dropout(const Tensor& self, double p,
                                                  Training training = Training::Yes,
                                                  Generator& generator = default_generator(),
                                                  Site site = Site::current());

// PyTorch's cdist and pdist: (sum |a - b|^p)^(1/p) of every row a of x1 and every row b of x2, whose batches
// broadcast; and of each pair of rows of one matrix, in the order of its upper triangle. Always computed from
// differences, whatever compute_mode says.
PEL_API Tensor _cdist_forward(const Tensor& x1, const Tensor& x2, double p = 2,
                              std::optional<std::int64_t> compute_mode = std::nullopt,
                              Site site = Site::current());
PEL_API Tensor _pdist_forward(const Tensor& self, double p = 2, Site site = Site::current());

}  // namespace internal
}  // namespace pel
