#include "doctor/names/op_families.h"

#include <algorithm>

namespace pel::doctor::names {
namespace {

using Family = KernelFamily;

struct OpFamily {
  std::string_view op;
  Family family;
};
// In order, for a search by halves. Elementwise ops stand here only where their name has an underscore.
constexpr OpFamily kOps[] = {
    {"_adaptive_avg_pool2d", Family::Pooling},
    {"_adaptive_avg_pool2d_backward", Family::Pooling},
    {"_batch_norm_with_update", Family::Norm},
    {"_efficient_attention_backward", Family::Attention},
    {"_efficient_attention_forward", Family::Attention},
    {"_embedding_bag", Family::Embedding},
    {"_flash_attention_forward", Family::Attention},
    {"_foreach_add", Family::Optimizer},
    {"_foreach_addcdiv", Family::Optimizer},
    {"_foreach_addcmul", Family::Optimizer},
    {"_foreach_copy", Family::Copy},
    {"_foreach_div", Family::Optimizer},
    {"_foreach_lerp", Family::Optimizer},
    {"_foreach_mul", Family::Optimizer},
    {"_foreach_norm", Family::Reduction},
    {"_foreach_sqrt", Family::Optimizer},
    {"_fused_adam", Family::Optimizer},
    {"_fused_adamw", Family::Optimizer},
    {"_fused_rms_norm", Family::Norm},
    {"_log_softmax", Family::Softmax},
    {"_log_softmax_backward_data", Family::Softmax},
    {"_native_batch_norm_legit", Family::Norm},
    {"_native_batch_norm_legit_functional", Family::Norm},
    {"_native_batch_norm_legit_no_training", Family::Norm},
    {"_prelu_kernel", Family::Elementwise},
    {"_reshape_alias", Family::Copy},
    {"_safe_softmax", Family::Softmax},
    {"_scaled_dot_product_cudnn_attention", Family::Attention},
    {"_scaled_dot_product_efficient_attention", Family::Attention},
    {"_scaled_dot_product_efficient_attention_backward", Family::Attention},
    {"_scaled_dot_product_flash_attention", Family::Attention},
    {"_scaled_dot_product_flash_attention_backward", Family::Attention},
    {"_scaled_mm", Family::Gemm},
    {"_softmax", Family::Softmax},
    {"_softmax_backward_data", Family::Softmax},
    {"_to_copy", Family::Copy},
    {"_unsafe_index", Family::Index},
    {"_unsafe_index_put", Family::Index},
    {"_unsafe_view", Family::Copy},
    {"_weight_norm_interface", Family::Norm},
    {"adam_step", Family::Optimizer},
    {"adaptive_avg_pool1d", Family::Pooling},
    {"adaptive_avg_pool2d", Family::Pooling},
    {"adaptive_avg_pool2d_backward", Family::Pooling},
    {"adaptive_avg_pool3d", Family::Pooling},
    {"adaptive_max_pool2d", Family::Pooling},
    {"addbmm", Family::Gemm},
    {"addmm", Family::Gemm},
    {"addmv", Family::Gemv},
    {"alias", Family::Copy},
    {"all", Family::Reduction},
    {"all_gather_into_tensor", Family::Collective},
    {"all_reduce", Family::Collective},
    {"amax", Family::Reduction},
    {"amin", Family::Reduction},
    {"any", Family::Reduction},
    {"arange", Family::Fill},
    {"argmax", Family::Reduction},
    {"argmin", Family::Reduction},
    {"argsort", Family::Sort},
    {"as_strided", Family::Copy},
    {"as_strided_scatter", Family::Copy},
    {"attention", Family::Attention},
    {"avg_pool2d", Family::Pooling},
    {"avg_pool2d_backward", Family::Pooling},
    {"avg_pool3d", Family::Pooling},
    {"baddbmm", Family::Gemm},
    {"batch_norm", Family::Norm},
    {"batch_norm_apply", Family::Norm},
    {"batch_norm_rows", Family::Norm},
    {"bernoulli", Family::Random},
    {"binary_cross_entropy", Family::Loss},
    {"binary_cross_entropy_with_logits", Family::Loss},
    {"bitwise_and", Family::Elementwise},
    {"bitwise_left_shift", Family::Elementwise},
    {"bitwise_not", Family::Elementwise},
    {"bitwise_or", Family::Elementwise},
    {"bitwise_right_shift", Family::Elementwise},
    {"bitwise_xor", Family::Elementwise},
    {"bmm", Family::Gemm},
    {"bucketize", Family::Index},
    {"cast", Family::Copy},
    {"cat", Family::Copy},
    {"clamp_max", Family::Elementwise},
    {"clamp_min", Family::Elementwise},
    {"clone", Family::Copy},
    {"constant_pad_nd", Family::Copy},
    {"contiguous", Family::Copy},
    {"convert_element_type", Family::Copy},
    {"convolution", Family::Convolution},
    {"convolution_backward", Family::Convolution},
    {"copy", Family::Copy},
    {"cosine_embedding_loss", Family::Loss},
    {"count_nonzero", Family::Reduction},
    {"cross_entropy", Family::Loss},
    {"cross_entropy_rows", Family::Loss},
    {"cummax", Family::Scan},
    {"cummin", Family::Scan},
    {"cumprod", Family::Scan},
    {"cumsum", Family::Scan},
    {"detach", Family::Copy},
    {"div_floor", Family::Elementwise},
    {"div_trunc", Family::Elementwise},
    {"dot", Family::Reduction},
    {"elu_backward", Family::Elementwise},
    {"embedding", Family::Embedding},
    {"embedding_dense_backward", Family::Embedding},
    {"empty", Family::Copy},
    {"empty_like", Family::Copy},
    {"empty_strided", Family::Copy},
    {"expand", Family::Copy},
    {"exponential", Family::Random},
    {"eye", Family::Fill},
    {"fill", Family::Fill},
    {"flex_attention", Family::Attention},
    {"flex_attention_backward", Family::Attention},
    {"flip", Family::Copy},
    {"floor_divide", Family::Elementwise},
    {"fmha_v3_fwd", Family::Attention},
    {"full", Family::Fill},
    {"full_like", Family::Fill},
    {"gather", Family::Index},
    {"gelu_backward", Family::Elementwise},
    {"grid_sampler_2d", Family::Resize},
    {"group_norm", Family::Norm},
    {"hardsigmoid_backward", Family::Elementwise},
    {"hardswish_backward", Family::Elementwise},
    {"hardtanh_backward", Family::Elementwise},
    {"huber_loss", Family::Loss},
    {"index", Family::Index},
    {"index_add", Family::Index},
    {"index_copy", Family::Index},
    {"index_put", Family::Index},
    {"index_select", Family::Index},
    {"inductor_random", Family::Random},
    {"inductor_seeds", Family::Random},
    {"instance_norm", Family::Norm},
    {"kl_div", Family::Loss},
    {"kthvalue", Family::Sort},
    {"l1_loss", Family::Loss},
    {"layer_norm", Family::Norm},
    {"leaky_relu", Family::Elementwise},
    {"leaky_relu_backward", Family::Elementwise},
    {"lift_fresh_copy", Family::Copy},
    {"linalg_vector_norm", Family::Reduction},
    {"linear", Family::Gemm},
    {"linspace", Family::Fill},
    {"log_sigmoid", Family::Elementwise},
    {"log_sigmoid_forward", Family::Elementwise},
    {"log_softmax", Family::Softmax},
    {"log_softmax_backward", Family::Softmax},
    {"logical_and", Family::Elementwise},
    {"logical_not", Family::Elementwise},
    {"logical_or", Family::Elementwise},
    {"logical_xor", Family::Elementwise},
    {"logsumexp", Family::Reduction},
    {"masked_fill", Family::Elementwise},
    {"masked_scatter", Family::Index},
    {"masked_select", Family::Index},
    {"matmul", Family::Gemm},
    {"max", Family::Reduction},
    {"max_pool2d_with_indices", Family::Pooling},
    {"max_pool2d_with_indices_backward", Family::Pooling},
    {"mean", Family::Reduction},
    {"median", Family::Sort},
    {"min", Family::Reduction},
    {"mm", Family::Gemm},
    {"moe_forward", Family::Moe},
    {"mse", Family::Loss},
    {"mse_backward", Family::Loss},
    {"mse_loss", Family::Loss},
    {"mse_loss_backward", Family::Loss},
    {"multinomial", Family::Random},
    {"mv", Family::Gemv},
    {"nan_to_num", Family::Elementwise},
    {"native_batch_norm", Family::Norm},
    {"native_batch_norm_backward", Family::Norm},
    {"native_dropout", Family::Random},
    {"native_dropout_backward", Family::Elementwise},
    {"native_group_norm", Family::Norm},
    {"native_group_norm_backward", Family::Norm},
    {"native_layer_norm", Family::Norm},
    {"native_layer_norm_backward", Family::Norm},
    {"new_empty", Family::Copy},
    {"new_full", Family::Fill},
    {"new_ones", Family::Fill},
    {"new_zeros", Family::Fill},
    {"nll_loss", Family::Loss},
    {"nll_loss_backward", Family::Loss},
    {"nll_loss_forward", Family::Loss},
    {"nonzero", Family::Index},
    {"norm", Family::Reduction},
    {"normal", Family::Random},
    {"one_hot", Family::Index},
    {"ones", Family::Fill},
    {"ones_like", Family::Fill},
    {"pad", Family::Copy},
    {"permute", Family::Copy},
    {"pow_tensor_scalar", Family::Elementwise},
    {"prod", Family::Reduction},
    {"rand", Family::Random},
    {"randint", Family::Random},
    {"randn", Family::Random},
    {"randperm", Family::Random},
    {"reduce_scatter_tensor", Family::Collective},
    {"reflection_pad2d", Family::Copy},
    {"repeat", Family::Copy},
    {"reshape", Family::Copy},
    {"rms_norm", Family::Norm},
    {"rms_norm_backward", Family::Norm},
    {"roll", Family::Copy},
    {"rotary_embedding", Family::Elementwise},
    {"rotate_pair", Family::Elementwise},
    {"scaled_dot_product_attention", Family::Attention},
    {"scatter", Family::Index},
    {"scatter_add", Family::Index},
    {"scatter_reduce", Family::Index},
    {"scatter_upon_const_tensor", Family::Index},
    {"searchsorted", Family::Index},
    {"select", Family::Copy},
    {"select_backward", Family::Copy},
    {"select_scatter", Family::Copy},
    {"sgd_step", Family::Optimizer},
    {"sigmoid_backward", Family::Elementwise},
    {"silu_backward", Family::Elementwise},
    {"slice", Family::Copy},
    {"slice_backward", Family::Copy},
    {"slice_scatter", Family::Copy},
    {"smooth_l1", Family::Loss},
    {"smooth_l1_loss", Family::Loss},
    {"softmax", Family::Softmax},
    {"softmax_backward", Family::Softmax},
    {"softplus_backward", Family::Elementwise},
    {"sort", Family::Sort},
    {"split", Family::Copy},
    {"split_with_sizes", Family::Copy},
    {"squeeze", Family::Copy},
    {"stack", Family::Copy},
    {"std", Family::Reduction},
    {"sum", Family::Reduction},
    {"sym_size", Family::Copy},
    {"t", Family::Copy},
    {"tanh_backward", Family::Elementwise},
    {"threshold_backward", Family::Elementwise},
    {"to", Family::Copy},
    {"topk", Family::Sort},
    {"transpose", Family::Copy},
    {"unbind", Family::Copy},
    {"unfold", Family::Copy},
    {"uniform", Family::Random},
    {"unsqueeze", Family::Copy},
    {"upsample_bicubic2d", Family::Resize},
    {"upsample_bilinear2d", Family::Resize},
    {"upsample_nearest2d", Family::Resize},
    {"upsample_nearest2d_backward", Family::Resize},
    {"var", Family::Reduction},
    {"var_mean", Family::Reduction},
    {"view", Family::Copy},
    {"wait_tensor", Family::Collective},
    {"welford", Family::Reduction},
    {"zero", Family::Fill},
    {"zeros", Family::Fill},
    {"zeros_like", Family::Fill},
};
static_assert(std::ranges::is_sorted(kOps, {}, &OpFamily::op));

// Those of one word, which need not stand above.
constexpr std::string_view kPointwise[] = {
    "abs",         "acos",      "acosh",    "add",       "addcdiv",    "addcmul", "asin",      "asinh",
    "atan",        "atan2",     "atanh",    "ceil",      "celu",       "clamp",   "copysign",  "cos",
    "cosh",        "div",       "elu",      "eq",        "erf",        "erfc",    "exp",       "exp2",
    "expm1",       "floor",     "fmod",     "frac",      "ge",         "gelu",    "gt",        "hardshrink",
    "hardsigmoid", "hardswish", "hardtanh", "hypot",     "isnan",      "le",      "lerp",      "log",
    "log10",       "log1p",     "log2",     "logaddexp", "lt",         "maximum", "minimum",   "mish",
    "mul",         "ne",        "neg",      "pow",       "reciprocal", "relu",    "remainder", "round",
    "rsqrt",       "rsub",      "selu",     "sigmoid",   "sign",       "silu",    "sin",       "sinh",
    "softplus",    "sqrt",      "square",   "sub",       "tan",        "tanh",    "threshold", "trunc",
    "where",       "xlogy",
};
static_assert(std::ranges::is_sorted(kPointwise));

constexpr std::size_t kMaxWords = 8;  // of one op: _scaled_dot_product_efficient_attention_backward has 7

const OpFamily* find_in_table(std::string_view op) {
  const auto at = std::ranges::lower_bound(kOps, op, {}, &OpFamily::op);
  return at != std::end(kOps) && at->op == op ? &*at : nullptr;
}

bool is_neighbour(Family f) { return uses_tensor_cores(f) || f == Family::Gemv || f == Family::Moe; }

bool any_of_family(const Pieces& ops, Family family) {
  return std::ranges::any_of(ops, [&](std::string_view op) { return family_of_op(op) == family; });
}
bool has_op(const Pieces& ops, std::string_view op) { return std::ranges::find(ops, op) != ops.end(); }

// In order of what a kernel is called for; norms that were written out are seen by their steps.
FusedFamily family_over_rows(const Pieces& ops) {
  for (const Family family : {Family::Loss, Family::Softmax, Family::Norm, Family::Sort, Family::Scan})
    if (any_of_family(ops, family)) return {family, Certainty::Certain};
  const bool is_squared =
      has_op(ops, "pow") || has_op(ops, "var_mean") || has_op(ops, "var") || has_op(ops, "square");
  if (is_squared && has_op(ops, "rsqrt")) return {Family::Norm, Certainty::Guessed};
  if (has_op(ops, "exp") && (has_op(ops, "amax") || has_op(ops, "max")) && has_op(ops, "sum"))
    return {Family::Softmax, Certainty::Guessed};
  if (any_of_family(ops, Family::Embedding)) return {Family::Embedding, Certainty::Guessed};
  return {Family::Reduction, Certainty::Certain};
}

}  // namespace

std::optional<Family> known_family_of_op(std::string_view op) {
  if (op.ends_with('_') && op.size() > 1) op.remove_suffix(1);  // in place
  if (const OpFamily* known = find_in_table(op)) return known->family;
  if (std::ranges::binary_search(kPointwise, op)) return Family::Elementwise;
  return std::nullopt;
}

Family family_of_op(std::string_view op) { return known_family_of_op(op).value_or(Family::Elementwise); }

Pieces split_ops(std::string_view joined) {
  Pieces ops;
  for (std::size_t begin = 0; begin < joined.size();) {
    // The ends of the next words; an op that begins with an underscore has an empty first word.
    std::size_t end = begin, taken = 0;
    for (std::size_t words = 0; words < kMaxWords && end <= joined.size(); ++words) {
      const std::size_t word_end = std::min(joined.find('_', end), joined.size());
      const std::string_view op = joined.substr(begin, word_end - begin);
      const bool is_word = !op.empty() && taken == 0;
      if (is_word || (op.size() <= 64 && find_in_table(op) != nullptr)) taken = word_end - begin;
      end = word_end + 1;
    }
    if (taken == 0) break;  // underscores alone
    ops.push_back(joined.substr(begin, taken));
    begin += taken + 1;
  }
  return ops;
}

FusedFamily family_of_fused(const Pieces& ops, bool over_rows) {
  if (over_rows) return family_over_rows(ops);
  bool has_copy = false, is_one = true;
  Family one = Family::Unknown;
  for (const std::string_view op : ops) {
    const Family family = family_of_op(op);
    has_copy |= family == Family::Copy;
    if (family == Family::Copy || is_neighbour(family)) continue;
    is_one &= one == Family::Unknown || one == family;
    one = family;
  }
  if (one == Family::Unknown) {
    if (has_copy) return {Family::Copy, Certainty::Certain};
    return {Family::Elementwise, ops.empty() ? Certainty::Certain : Certainty::Guessed};  // a matmul's bias
  }
  constexpr Family kKept[] = {Family::Fill,      Family::Embedding, Family::Index,   Family::Random,
                              Family::Optimizer, Family::Resize,    Family::Pooling, Family::Loss};
  if (is_one && std::ranges::find(kKept, one) != std::end(kKept)) return {one, Certainty::Certain};
  return {Family::Elementwise, Certainty::Certain};
}

}  // namespace pel::doctor::names
