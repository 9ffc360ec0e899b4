#include <algorithm>
#include <cmath>

#include "pellucid/nn/init.h"
#include "pellucid/nn/modules.h"
#include "pellucid/ops.h"
#include "pellucid/ops/attention.h"
#include "pellucid/ops/convolution.h"
#include "pellucid/ops/indexing.h"
#include "pellucid/ops/linalg.h"
#include "pellucid/ops/normalization.h"
#include "pellucid/ops/pointwise.h"

#include "base/check.h"

namespace pel::nn {
namespace {

std::optional<Tensor> optional_of(const Tensor& t) {
  return t.defined() ? std::optional<Tensor>(t) : std::nullopt;
}

// As in PyTorch's Linear and Conv: both are uniform within 1 / sqrt(fan in).
void init_product(const Tensor& weight, const Tensor& bias) {
  init_kaiming_uniform_(weight, std::sqrt(5.0));
  const double bound = 1 / std::sqrt(static_cast<double>(fan_of(weight).in));
  if (bias.defined()) init_uniform_(bias, -bound, bound);
}

// Writes new keys or values to their slots. Returns those that queries may see.
Tensor in_slots(const Tensor& slots, const Tensor& fresh, const Positions& positions) {
  if (!positions.index.defined()) {
    slots.narrow(2, 0, fresh.size(2)).copy_(fresh);
    return fresh;
  }
  const Dim batch = fresh.size(0), heads = fresh.size(1);
  const Device device = fresh.device();
  index_put_(
      slots,
      {arange(batch, device).view({batch, 1, 1}), arange(heads, device).view({heads, 1}), positions.index},
      fresh);
  return slots.narrow(2, 0, positions.seen->size(3));
}

}  // namespace

Linear::Linear(std::int64_t in, std::int64_t out, Bias has_bias) {
  add_parameter("weight", weight, empty({out, in}));
  if (has_bias == Bias::Yes) add_parameter("bias", bias, empty({out}));
  init_product(weight, bias);
}
Tensor Linear::operator()(const Tensor& x, Site site) const {
  const ModuleRange range(*this, site);
  return gather_(linear(x, weight, optional_of(bias), site), site);
}

ConvNd::ConvNd(std::size_t spatial_axes, std::int64_t in, std::int64_t out, Ints kernel_size,
               const ConvOptions& options)
    : options_(options) {
  PEL_CHECK(kernel_size.size() == spatial_axes || kernel_size.size() == 1, ValueError,
            "Conv{}d: kernel_size has one number, or one for each of {} spatial axes; it has {}",
            spatial_axes, spatial_axes, kernel_size.size());
  std::vector<Dim> sizes = {out, in / options.groups};
  for (std::size_t i = 0; i < spatial_axes; ++i)
    sizes.emplace_back(kernel_size[kernel_size.size() == 1 ? 0 : i]);
  add_parameter("weight", weight, pel::empty(sizes));
  if (options.bias == Bias::Yes) add_parameter("bias", bias, empty({out}));
  init_product(weight, bias);
}
Tensor ConvNd::operator()(const Tensor& x, Site site) const {
  const ModuleRange range(*this, site);
  const auto conv = weight.dim() == 3 ? conv1d : weight.dim() == 4 ? conv2d : conv3d;
  return conv(x, weight, optional_of(bias), {options_.stride}, {options_.padding}, {options_.dilation},
              options_.groups, site);
}

Embedding::Embedding(std::int64_t count, std::int64_t width) {
  add_parameter("weight", weight, empty({count, width}));
  init_normal_(weight, 0, 1);
}
Tensor Embedding::operator()(const Tensor& indices, Site site) const {
  const ModuleRange range(*this, site);
  return embedding(weight, indices, site);
}

LayerNorm::LayerNorm(std::int64_t width, double eps) : eps_(eps) {
  add_parameter("weight", weight, ones({width}));
  add_parameter("bias", bias, zeros({width}));
}
Tensor LayerNorm::operator()(const Tensor& x, Site site) const {
  const ModuleRange range(*this, site);
  return layer_norm(x, weight.sizes(), weight, bias, eps_, site);
}

RMSNorm::RMSNorm(std::int64_t width, double eps) : eps_(eps) {
  add_parameter("weight", weight, ones({width}));
}
Tensor RMSNorm::operator()(const Tensor& x, Site site) const {
  const ModuleRange range(*this, site);
  return rms_norm(x, weight.sizes(), weight, eps_, site);
}

Tensor Dropout::operator()(const Tensor& x, Site site) const {
  const ModuleRange range(*this, site);
  return dropout(x, p_, training(), default_generator(), site);
}

GatedMLP::GatedMLP(std::int64_t width, std::int64_t hidden, Gate gate_kind, Bias bias)
    : gate(width, hidden, bias), up(width, hidden, bias), down(hidden, width, bias), kind_(gate_kind) {
  add("gate", gate), add("up", up), add("down", down);
}
Tensor GatedMLP::operator()(const Tensor& x, Site site) const {
  const ModuleRange range(*this, site);
  const Tensor opened = gate(x, site);
  // In this order with every compiler: it is what a trace shows.
  const Tensor gated = kind_ == Gate::Gelu ? gelu(opened, GeluApproximate::Tanh, site) : silu(opened, site);
  const Tensor raised = up(x, site);
  return down(gather_(mul(gated, raised, site), site), site);
}

MultiheadAttention::MultiheadAttention(const AttentionConfig& config)
    : qkv(config.width,
          config.width +
              2 * (config.kv_heads ? config.kv_heads : config.heads) * (config.width / config.heads),
          config.bias),
      out(config.width, config.width, config.bias),
      config_(config),
      head_width_(config.width / config.heads),
      heads_(config.heads),
      kv_heads_(config.kv_heads ? config.kv_heads : config.heads),
      dropout_(config.dropout) {
  PEL_CHECK(config.width % config.heads == 0, ValueError,
            "the width must be a multiple of the number of heads: the width is {} and there are {} heads",
            config.width, config.heads);
  if (config_.kv_heads == 0) config_.kv_heads = config_.heads;
  add("qkv", qkv), add("out", out), add("dropout", dropout_);
}

Positions MultiheadAttention::positions_of(const Tensor& x, const KVCache* cache) const {
  Positions positions;
  const Dim tokens = x.size(1);
  const std::int64_t before = cache ? cache->length() : 0;
  const bool differ = cache && std::ranges::any_of(cache->lengths(), [&](auto n) { return n != before; });
  if (!differ && config_.rotary_base == 0) return positions;
  const Device device = x.device();
  Tensor position = arange(before, before + tokens, 1, device);
  if (differ) {
    const std::vector<std::int64_t>& lengths = cache->lengths();
    position = from_data(lengths, {static_cast<std::int64_t>(lengths.size()), 1, 1}).to(device) +
               arange(tokens, device);
    if (config_.causal) positions.seen = le(arange(before + tokens, device), position.unsqueeze(3));
  }
  rotate(positions, position, x.dtype());
  return positions;
}

Positions MultiheadAttention::positions_at(const Tensor& position, const Tensor& x,
                                           const Tensor& keys) const {
  Positions positions;
  positions.index = position;
  positions.seen = le(keys, position.unsqueeze(3));
  rotate(positions, position, x.dtype());
  return positions;
}

void MultiheadAttention::rotate(Positions& positions, const Tensor& position, DType dtype) const {
  if (config_.rotary_base == 0) return;
  const Tensor axis = arange(0, head_width_, 2, {kF32, position.device()}) / static_cast<double>(head_width_);
  const Tensor angle = position.to(kF32).unsqueeze(-1) * reciprocal(pow(config_.rotary_base, axis));
  positions.cos = cos(angle).to(dtype);
  positions.sin = sin(angle).to(dtype);
}

Tensor MultiheadAttention::operator()(const Tensor& x, const AttentionContext& context, Site site) const {
  const ModuleRange range(*this, site);
  const Dim batch = x.size(0), tokens = x.size(1);
  const std::int64_t own = heads_ * head_width_, shared = kv_heads_ * head_width_;
  const std::vector<Tensor> parts = split_with_sizes(qkv(x, site), {own, shared, shared}, -1, site);
  const auto by_head = [&](const Tensor& t, std::int64_t heads) {
    return t.view({batch, tokens, heads, head_width_}).transpose(1, 2);
  };
  Tensor query = by_head(parts[0], heads_), key = by_head(parts[1], kv_heads_),
         value = by_head(parts[2], kv_heads_);
  KVCache* cache = context.cache;
  const Positions mine = context.positions ? Positions{} : positions_of(x, cache);
  const Positions& positions = context.positions ? *context.positions : mine;
  if (positions.cos.defined()) {
    query = rotary_embedding(query, positions.cos, positions.sin, Interleaved::No, site);
    key = rotary_embedding(key, positions.cos, positions.sin, Interleaved::No, site);
  }
  const bool is_first = !cache || cache->length() == 0;
  if (cache) std::tie(key, value) = cache->append(key, value, context.counts, site);
  if (const KVSlots* slots = context.slots) {
    key = in_slots(slots->keys, key, positions);
    value = in_slots(slots->values, value, positions);
  }
  AttentionOptions options;
  options.grouped = kv_heads_ != heads_ ? GroupedHeads::Yes : GroupedHeads::No;
  std::optional<Tensor> mask = context.mask;
  if (positions.seen) {
    PEL_CHECK(!mask, ValueError, "a mask cannot be passed when the sequences in the cache differ in length");
    mask = positions.seen;
  } else if (config_.causal && is_first) {
    options.causal = Causal::Yes;
  } else if (config_.causal) {
    options.window = key.size(2).value();  // the last query has the position of the last key
  }
  const Tensor attended = scaled_dot_product_attention(query, key, value, mask, options, site);
  return dropout_(out(gather_(attended.transpose(1, 2).reshape({batch, tokens, own}), site), site), site);
}

}  // namespace pel::nn
