#include "pellucid/nn/models.h"

#include <algorithm>
#include <cmath>

#include "pellucid/nn/init.h"
#include "pellucid/ops.h"
#include "pellucid/ops/indexing.h"
#include "pellucid/ops/linalg.h"
#include "pellucid/ops/pointwise.h"

#include "base/check.h"
#include "nn/shard.h"
#include "nn/tokens_before.h"

namespace pel::nn {
namespace {

// Initializes as GPT-2 and BERT do: small weights, zero biases. Projections onto the residual stream are
// smaller still, so that its size does not grow with the number of layers.
void init_small(const Module& module, double std, double residual_std) {
  for (const NamedTensor& each : module.named_parameters()) {
    if (each.tensor.dim() < 2) {
      if (each.path.ends_with("bias")) init_constant_(each.tensor, 0);
      continue;
    }
    const bool is_residual = each.path.ends_with("out.weight") || each.path.ends_with("proj.weight");
    init_normal_(each.tensor, 0, is_residual ? residual_std : std);
  }
}

KVCaches caches_for(std::int64_t layers, std::int64_t context) {
  return KVCaches(static_cast<std::size_t>(layers), KVCache(context));
}

AttentionConfig attention_of(const GPTConfig& c) {
  return {.width = c.width, .heads = c.heads, .causal = true, .dropout = c.dropout};
}

AttentionConfig attention_of(const LlamaConfig& c) {
  return {.width = c.width,
          .heads = c.heads,
          .kv_heads = c.kv_heads,
          .bias = Bias::No,
          .causal = true,
          .rotary_base = c.rotary_base};
}

AttentionConfig attention_of(const BertConfig& c) { return {.width = c.width, .heads = c.heads}; }

}  // namespace

std::int64_t tokens_before(const KVCaches* caches, std::int64_t layers, const Tensor& tokens,
                           std::int64_t context) {
  PEL_CHECK(tokens.dim() == 2 && tokens.dtype() == kI64, ShapeError,
            "expected tokens of i64[batch, tokens], got {}{}", name(tokens.dtype()),
            to_string(tokens.sizes()));
  PEL_CHECK(!caches || caches->size() == static_cast<std::size_t>(layers), ValueError,
            "expected one cache for each of the {1} layers, got {0}; make_caches() creates them",
            caches->size(), layers);
  const std::int64_t before = caches ? caches->front().length() : 0;
  PEL_CHECK(tokens.size(1) <= context - before, ValueError,
            "{} tokens after {} exceed the context of {} tokens", to_string(tokens.size(1)), before, context);
  return before;
}

MLP::MLP(std::int64_t width, std::int64_t hidden, GeluApproximate approximate, double dropout)
    : fc(width, hidden), proj(hidden, width), approximate_(approximate), dropout_(dropout) {
  add("fc", fc), add("proj", proj), add("dropout", dropout_);
}
Tensor MLP::operator()(const Tensor& x, Site site) const {
  const ModuleRange range(*this, site);
  return dropout_(proj(gather_(gelu(fc(x, site), approximate_, site), site), site), site);
}

GPT::Block::Block(const GPTConfig& config)
    : ln_1(config.width),
      attn(attention_of(config)),
      ln_2(config.width),
      mlp(config.width, 4 * config.width, GeluApproximate::Tanh, config.dropout) {
  add("ln_1", ln_1), add("attn", attn), add("ln_2", ln_2), add("mlp", mlp);
}
Tensor GPT::Block::operator()(const Tensor& x, KVCache* cache) const {
  const ModuleRange range(*this, Site());
  const Tensor attended = x + attn(ln_1(x), {.cache = cache});
  return attended + mlp(ln_2(attended));
}

GPT::GPT(const GPTConfig& config)
    : wte(config.vocabulary, config.width),
      wpe(config.context, config.width),
      ln_f(config.width),
      config_(config),
      dropout_(config.dropout) {
  add("wte", wte), add("wpe", wpe), add("h", h), add("ln_f", ln_f), add("dropout", dropout_);
  for (std::int64_t i = 0; i < config.layers; ++i) h.emplace(config);
  init_small(*this, 0.02, 0.02 / std::sqrt(2.0 * static_cast<double>(config.layers)));
}

Tensor GPT::operator()(const Tensor& tokens, KVCaches* caches, Site site) const {
  const ModuleRange range(*this, site);
  return as_call("GPT", site, [&] {
    const std::int64_t before = tokens_before(caches, config_.layers, tokens, config_.context);
    Tensor x = dropout_(wte(tokens) + wpe(arange(before, before + tokens.size(1), 1, tokens.device())));
    for (std::size_t i = 0; i < h.size(); ++i) x = h[i](x, caches ? &(*caches)[i] : nullptr);
    return tied_logits(ln_f(x), wte.weight, vocabulary_);
  });
}
KVCaches GPT::make_caches() const { return caches_for(config_.layers, config_.context); }

Llama::Block::Block(const LlamaConfig& config)
    : input_norm(config.width, config.norm_eps),
      attention(attention_of(config)),
      post_norm(config.width, config.norm_eps),
      mlp(config.width, config.hidden) {
  add("input_norm", input_norm), add("attention", attention), add("post_norm", post_norm), add("mlp", mlp);
}
Tensor Llama::Block::operator()(const Tensor& x, const AttentionContext& context) const {
  const ModuleRange range(*this, Site());
  const Tensor attended = x + attention(input_norm(x), context);
  return attended + mlp(post_norm(attended));
}

Llama::Llama(const LlamaConfig& config)
    : embed(config.vocabulary, config.width), norm(config.width, config.norm_eps), config_(config) {
  add("embed", embed), add("layers", layers), add("norm", norm);
  for (std::int64_t i = 0; i < config.layers; ++i) layers.emplace(config);
  if (!config.ties_weights) {
    head = std::make_unique<Linear>(config.width, config.vocabulary, Bias::No);
    add("head", *head);
  }
  init_small(*this, 0.02, 0.02);
}

Tensor Llama::operator()(const Tensor& tokens, KVCaches* caches, ArrayView<std::int64_t> counts,
                         Site site) const {
  const ModuleRange range(*this, site);
  return as_call("Llama", site, [&] { return logits(features(tokens, caches, counts)); });
}
Tensor Llama::features(const Tensor& tokens, KVCaches* caches, ArrayView<std::int64_t> counts,
                       Site site) const {
  return as_call("Llama", site, [&] {
    tokens_before(caches, config_.layers, tokens, config_.context);
    Tensor x = embed(tokens);
    const Positions positions = layers[0].attention.positions_of(x, caches ? &caches->front() : nullptr);
    for (std::size_t i = 0; i < layers.size(); ++i)
      x = layers[i](x,
                    {.cache = caches ? &(*caches)[i] : nullptr, .counts = counts, .positions = &positions});
    return x;
  });
}
Tensor Llama::logits(const Tensor& features, Site site) const {
  return as_call("Llama", site, [&] {
    const Tensor x = norm(features);
    return head ? (*head)(x) : tied_logits(x, embed.weight, vocabulary_);
  });
}
Tensor Llama::next_logits(const Tensor& tokens, KVCaches& caches, ArrayView<std::int64_t> counts,
                          Site site) const {
  return as_call("Llama", site, [&] {
    const Tensor x = features(tokens.to(embed.weight.device()), &caches, counts);
    std::vector<Tensor> last;
    for (std::int64_t i = 0; i < x.size(0).value(); ++i) {
      const std::int64_t count = counts.empty() ? x.size(1).value() : counts[static_cast<std::size_t>(i)];
      last.push_back(x.select(0, i).select(0, std::max<std::int64_t>(count, 1) - 1));
    }
    return logits(stack(last));
  });
}
KVCaches Llama::make_caches() const { return caches_for(config_.layers, config_.context); }

Bert::Layer::Layer(const BertConfig& config)
    : attention(attention_of(config)),
      attention_norm(config.width, config.norm_eps),
      mlp(config.width, config.hidden, GeluApproximate::None),
      output_norm(config.width, config.norm_eps) {
  add("attention", attention), add("attention_norm", attention_norm), add("mlp", mlp),
      add("output_norm", output_norm);
}
Tensor Bert::Layer::operator()(const Tensor& x, const std::optional<Tensor>& mask) const {
  const ModuleRange range(*this, Site());
  const Tensor attended = attention_norm(x + attention(x, {.mask = mask}));
  return output_norm(attended + mlp(attended));
}

Bert::Bert(const BertConfig& config)
    : words(config.vocabulary, config.width),
      positions(config.context, config.width),
      types(config.types, config.width),
      norm(config.width, config.norm_eps) {
  add("words", words), add("positions", positions), add("types", types), add("norm", norm),
      add("layers", layers);
  for (std::int64_t i = 0; i < config.layers; ++i) layers.emplace(config);
  init_small(*this, 0.02, 0.02);
}

Tensor Bert::operator()(const Tensor& tokens, const std::optional<Tensor>& mask, Site site) const {
  const ModuleRange range(*this, site);
  return as_call("Bert", site, [&] {
    const Dim batch = tokens.size(0), count = tokens.size(1);
    const Device device = tokens.device();
    Tensor x = norm(words(tokens) + positions(arange(count, device)) + types(zeros({count}, {kI64, device})));
    std::optional<Tensor> visible;
    if (mask) visible = mask->view({batch, 1, 1, count});
    for (std::size_t i = 0; i < layers.size(); ++i) x = layers[i](x, visible);
    return x;
  });
}

}  // namespace pel::nn
