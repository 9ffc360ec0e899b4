// Whole models, in three styles.
#pragma once

#include "pellucid/nn/modules.h"

namespace pel::nn {

// One cache for each layer. Empty before the first call with it.
using KvCaches = std::vector<KvCache>;

// proj(gelu(fc(x))), with gelu by tanh or exact.
class PEL_API Mlp : public Module {
 public:
  Mlp(std::int64_t width, std::int64_t hidden, std::string approximate = "tanh", double dropout = 0);
  Tensor operator()(const Tensor& x, Site site = Site::current()) const;
  Linear fc, proj;

 private:
  std::string approximate_;
  Dropout dropout_;
};

struct GptConfig {
  std::int64_t vocabulary = 256, context = 128, layers = 4, heads = 4, width = 256;
  double dropout = 0;
};
// GPT-2: learned positions, LayerNorm before each part, tied output weights.
class PEL_API Gpt : public Module {
 public:
  explicit Gpt(const GptConfig& config);
  // Tokens, i64 [batch, tokens], to logits [batch, tokens, vocabulary].
  Tensor operator()(const Tensor& tokens, KvCaches* caches = nullptr, Site site = Site::current()) const;
  KvCaches make_caches() const;

  class PEL_API Block : public Module {
   public:
    explicit Block(const GptConfig& config);
    Tensor operator()(const Tensor& x, KvCache* cache) const;
    LayerNorm ln_1;
    MultiheadAttention attn;
    LayerNorm ln_2;
    Mlp mlp;
  };
  Embedding wte, wpe;
  ModuleList<Block> h;
  LayerNorm ln_f;

 private:
  GptConfig config_;
  Dropout dropout_;
};

struct LlamaConfig {
  std::int64_t vocabulary = 256, context = 2048, layers = 4, heads = 4, kv_heads = 4, width = 256,
               hidden = 688;
  double rotary_base = 10000, norm_eps = 1e-5;
  bool ties_weights = true;
};
// Llama: rotary positions, RMSNorm, SwiGLU, heads that share keys and values.
class PEL_API Llama : public Module {
 public:
  explicit Llama(const LlamaConfig& config);
  // Tokens, i64 [batch, tokens], to logits [batch, tokens, vocabulary]. With `counts`, only so many tokens of
  // each sequence count; each sequence goes on behind its own.
  Tensor operator()(const Tensor& tokens, KvCaches* caches = nullptr, ArrayView<std::int64_t> counts = {},
                    Site site = Site::current()) const;
  // The same in two parts: what the last layer gives, [batch, tokens, width], and logits of some of that.
  Tensor features(const Tensor& tokens, KvCaches* caches = nullptr, ArrayView<std::int64_t> counts = {},
                  Site site = Site::current()) const;
  Tensor logits(const Tensor& features, Site site = Site::current()) const;
  // Logits [batch, vocabulary] of what follows the last token that counts of each sequence.
  Tensor next_logits(const Tensor& tokens, KvCaches& caches, ArrayView<std::int64_t> counts = {},
                     Site site = Site::current()) const;
  KvCaches make_caches() const;
  const LlamaConfig& config() const { return config_; }

  class PEL_API Block : public Module {
   public:
    explicit Block(const LlamaConfig& config);
    Tensor operator()(const Tensor& x, const AttentionContext& context) const;
    RmsNorm input_norm;
    MultiheadAttention attention;
    RmsNorm post_norm;
    SwigluMlp mlp;
  };
  Embedding embed;
  ModuleList<Block> layers;
  RmsNorm norm;
  std::unique_ptr<Linear> head;  // null where weights are tied

 private:
  LlamaConfig config_;
};

struct BertConfig {
  std::int64_t vocabulary = 30522, context = 512, types = 2, layers = 6, heads = 12, width = 384,
               hidden = 1536;
  double norm_eps = 1e-12;
};
// BERT: every token sees every other; LayerNorm after each part.
class PEL_API Bert : public Module {
 public:
  explicit Bert(const BertConfig& config);
  // Tokens, i64 [batch, tokens], and which of them count, bool of the same sizes; to [batch, tokens, width].
  Tensor operator()(const Tensor& tokens, const std::optional<Tensor>& mask = std::nullopt,
                    Site site = Site::current()) const;

  class PEL_API Layer : public Module {
   public:
    explicit Layer(const BertConfig& config);
    Tensor operator()(const Tensor& x, const std::optional<Tensor>& mask) const;
    MultiheadAttention attention;
    LayerNorm attention_norm;
    Mlp mlp;
    LayerNorm output_norm;
  };
  Embedding words, positions, types;
  LayerNorm norm;
  ModuleList<Layer> layers;
};

}  // namespace pel::nn
