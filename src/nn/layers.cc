#include <cmath>

#include "pellucid/attention.h"
#include "pellucid/convolution.h"
#include "pellucid/indexing.h"
#include "pellucid/init.h"
#include "pellucid/linalg.h"
#include "pellucid/nn.h"
#include "pellucid/normalization.h"
#include "pellucid/ops.h"
#include "pellucid/pointwise.h"

#include "base/check.h"

namespace pel::nn {
namespace {

std::optional<Tensor> given(const Tensor& t) { return t.defined() ? std::optional<Tensor>(t) : std::nullopt; }

// As PyTorch's Linear and Conv: both uniform within 1 / sqrt(fan in).
void init_product(const Tensor& weight, const Tensor& bias) {
  init_kaiming_uniform_(weight, std::sqrt(5.0));
  const double bound = 1 / std::sqrt(static_cast<double>(fan_of(weight).in));
  if (bias.defined()) init_uniform_(bias, -bound, bound);
}

}  // namespace

Linear::Linear(std::int64_t in, std::int64_t out, Bias has_bias) {
  add_parameter("weight", weight, empty({out, in}));
  if (has_bias == Bias::Yes) add_parameter("bias", bias, empty({out}));
  init_product(weight, bias);
}
Tensor Linear::operator()(const Tensor& x, Site site) const { return linear(x, weight, given(bias), site); }

Conv::Conv(std::int64_t in, std::int64_t out, Dims kernel, const ConvOptions& options) : options_(options) {
  PEL_CHECK(!kernel.empty() && kernel.size() <= 3, ValueError, "one to three kernel sizes, not {}",
            kernel.size());
  std::vector<Dim> sizes = {out, in / options.groups};
  sizes.insert(sizes.end(), kernel.begin(), kernel.end());
  add_parameter("weight", weight, pel::empty(sizes));
  if (options.bias == Bias::Yes) add_parameter("bias", bias, empty({out}));
  init_product(weight, bias);
}
Tensor Conv::operator()(const Tensor& x, Site site) const {
  const auto conv = weight.dim() == 3 ? conv1d : weight.dim() == 4 ? conv2d : conv3d;
  return conv(x, weight, given(bias), {options_.stride}, {options_.padding}, {options_.dilation},
              options_.groups, site);
}

Embedding::Embedding(std::int64_t count, std::int64_t width) {
  add_parameter("weight", weight, empty({count, width}));
  init_normal_(weight, 0, 1);
}
Tensor Embedding::operator()(const Tensor& indices, Site site) const {
  return embedding(weight, indices, site);
}

LayerNorm::LayerNorm(std::int64_t width, double eps) : eps_(eps) {
  add_parameter("weight", weight, ones({width}));
  add_parameter("bias", bias, zeros({width}));
}
Tensor LayerNorm::operator()(const Tensor& x, Site site) const {
  return layer_norm(x, weight.sizes(), weight, bias, eps_, site);
}

RmsNorm::RmsNorm(std::int64_t width, double eps) : eps_(eps) {
  add_parameter("weight", weight, ones({width}));
}
Tensor RmsNorm::operator()(const Tensor& x, Site site) const {
  return rms_norm(x, weight.sizes(), weight, eps_, site);
}

Tensor Dropout::operator()(const Tensor& x, Site site) const {
  return dropout(x, p_, training(), default_generator(), site);
}

GatedMlp::GatedMlp(std::int64_t width, std::int64_t hidden, Gate gate_kind, Bias bias)
    : gate(width, hidden, bias), up(width, hidden, bias), down(hidden, width, bias), kind_(gate_kind) {
  add("gate", gate), add("up", up), add("down", down);
}
Tensor GatedMlp::operator()(const Tensor& x, Site site) const {
  const Tensor opened = gate(x, site);
  return down(mul(kind_ == Gate::Gelu ? gelu(opened, "tanh", site) : silu(opened, site), up(x, site), site),
              site);
}

std::pair<Tensor, Tensor> KvCache::append(const Tensor& keys, const Tensor& values, Site site) {
  return as_call("KvCache", site, [&] {
    const std::int64_t count = keys.size(2).value();
    PEL_CHECK(length_ + count <= capacity_, ValueError,
              "{} tokens are there and {} come, but the cache holds {}", length_, count, capacity_);
    const auto room = [&](const Tensor& like) {
      std::vector<Dim> sizes = like.sizes().vec();
      sizes[2] = capacity_;
      return empty(sizes, {like.dtype(), like.device()});
    };
    if (!keys_.defined() || keys_.size(0) != keys.size(0) || keys_.dtype() != keys.dtype()) {
      PEL_CHECK(length_ == 0, ShapeError, "the cache holds {}, and {} come", to_string(keys_.sizes()),
                to_string(keys.sizes()));
      keys_ = room(keys);
      values_ = room(values);
    }
    keys_.narrow(2, length_, count).copy_(keys);
    values_.narrow(2, length_, count).copy_(values);
    length_ += count;
    return std::pair(keys_.narrow(2, 0, length_), values_.narrow(2, 0, length_));
  });
}

MultiheadAttention::MultiheadAttention(const AttentionConfig& config)
    : qkv(config.width,
          config.width +
              2 * (config.kv_heads ? config.kv_heads : config.heads) * (config.width / config.heads),
          config.bias),
      out(config.width, config.width, config.bias),
      config_(config),
      head_width_(config.width / config.heads),
      dropout_(config.dropout) {
  PEL_CHECK(config.width % config.heads == 0, ValueError, "a width of {} is not divided by {} heads",
            config.width, config.heads);
  if (config_.kv_heads == 0) config_.kv_heads = config_.heads;
  add("qkv", qkv), add("out", out), add("dropout", dropout_);
}

Tensor MultiheadAttention::operator()(const Tensor& x, const std::optional<Tensor>& mask, KvCache* cache,
                                      Site site) const {
  const Dim batch = x.size(0), tokens = x.size(1);
  const std::int64_t shared = config_.kv_heads * head_width_;
  const std::vector<Tensor> parts = split_with_sizes(qkv(x, site), {config_.width, shared, shared}, -1, site);
  const auto by_head = [&](const Tensor& t, std::int64_t heads) {
    return t.view({batch, tokens, heads, head_width_}).transpose(1, 2);
  };
  Tensor query = by_head(parts[0], config_.heads), key = by_head(parts[1], config_.kv_heads),
         value = by_head(parts[2], config_.kv_heads);
  const std::int64_t before = cache ? cache->length() : 0;
  if (config_.rotary_base != 0) {
    const Tensor place = arange(before, before + tokens.value(), 1, kF32).unsqueeze(1);
    const Tensor axis = arange(0, head_width_, 2, kF32);
    const Tensor angle = place * pow(config_.rotary_base, axis * (-1.0 / static_cast<double>(head_width_)));
    const Tensor turn_cos = cos(angle).to(x.dtype()), turn_sin = sin(angle).to(x.dtype());
    query = rotary_embedding(query, turn_cos, turn_sin, Interleaved::No, site);
    key = rotary_embedding(key, turn_cos, turn_sin, Interleaved::No, site);
  }
  if (cache) std::tie(key, value) = cache->append(key, value, site);
  AttentionOptions options;
  options.grouped = config_.kv_heads != config_.heads ? GroupedHeads::Yes : GroupedHeads::No;
  if (config_.causal && before == 0) {
    options.causal = Causal::Yes;
  } else if (config_.causal) {
    options.window = key.size(2).value();  // the last query stands at the last key
  }
  const Tensor attended = scaled_dot_product_attention(query, key, value, mask, options, site);
  return dropout_(out(attended.transpose(1, 2).reshape({batch, tokens, config_.width}), site), site);
}

}  // namespace pel::nn
