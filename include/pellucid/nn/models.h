// Whole models: GPT-2, Llama and BERT.
#pragma once

#include "pellucid/nn/modules.h"

namespace pel::nn {

// One cache for each layer, empty at first.
using KVCaches = std::vector<KVCache>;

// proj(gelu(fc(x))), with gelu by tanh or exact.
class PEL_API MLP : public Module {
 public:
  MLP(std::int64_t width, std::int64_t hidden, GeluApproximate approximate = GeluApproximate::Tanh,
      double dropout = 0);
  Tensor operator()(const Tensor& x, Site site = Site::current()) const;
  void shard(const dist::Group& group);
  Linear fc, proj;

 private:
  GeluApproximate approximate_;
  Dropout dropout_;
  ColumnGather gather_;
};

// Which rows of tied output weights this rank multiplies; without a gather all of them.
struct VocabularyShard {
  std::int64_t begin = 0, count = -1;
  ColumnGather gather{};
};

struct GPTConfig {
  std::int64_t vocabulary = 256, context = 128, layers = 4, heads = 4, width = 256;
  double dropout = 0;
};
// GPT-2: learned positions, pre-LayerNorm blocks, tied output weights.
class PEL_API GPT : public Module {
 public:
  explicit GPT(const GPTConfig& config);
  // Tokens, i64 [batch, tokens], to logits [batch, tokens, vocabulary].
  Tensor operator()(const Tensor& tokens, KVCaches* caches = nullptr, Site site = Site::current()) const;
  KVCaches make_caches() const;
  // As Llama's.
  void shard(const dist::Group& group, Site site = Site::current());

  class PEL_API Block : public Module {
   public:
    explicit Block(const GPTConfig& config);
    Tensor operator()(const Tensor& x, KVCache* cache) const;
    LayerNorm ln_1;
    MultiheadAttention attn;
    LayerNorm ln_2;
    MLP mlp;
  };
  Embedding wte, wpe;
  ModuleList<Block> h;
  LayerNorm ln_f;

 private:
  GPTConfig config_;
  Dropout dropout_;
  VocabularyShard vocabulary_;
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
  // Tokens, i64 [batch, tokens], to logits [batch, tokens, vocabulary]. With `counts`, only the
  // first counts[i] tokens of sequence i are valid; each sequence continues after its own.
  Tensor operator()(const Tensor& tokens, KVCaches* caches = nullptr, ArrayView<std::int64_t> counts = {},
                    Site site = Site::current()) const;
  // The same in two parts: the output of the last layer, [batch, tokens, width], and logits of part of it.
  Tensor features(const Tensor& tokens, KVCaches* caches = nullptr, ArrayView<std::int64_t> counts = {},
                  Site site = Site::current()) const;
  Tensor logits(const Tensor& features, Site site = Site::current()) const;
  // Logits [batch, vocabulary] of the token after the last valid one of each sequence.
  Tensor next_logits(const Tensor& tokens, KVCaches& caches, ArrayView<std::int64_t> counts = {},
                     Site site = Site::current()) const;
  KVCaches make_caches() const;
  const LlamaConfig& config() const { return config_; }
  // Divides heads, hidden features and the vocabulary among the ranks of a group, which call the model
  // together, with the same tokens (tensor parallelism). Results have the bits of one rank. Each needs a head
  // of keys at least. For inference: parameters require no gradient afterwards. Load weights before.
  void shard(const dist::Group& group, Site site = Site::current());

  class PEL_API Block : public Module {
   public:
    explicit Block(const LlamaConfig& config);
    Tensor operator()(const Tensor& x, const AttentionContext& context) const;
    RMSNorm input_norm;
    MultiheadAttention attention;
    RMSNorm post_norm;
    SwiGLU mlp;
  };
  Embedding embed;
  ModuleList<Block> layers;
  RMSNorm norm;
  std::unique_ptr<Linear> head;  // null if weights are tied

 private:
  LlamaConfig config_;
  VocabularyShard vocabulary_;
};

struct BertConfig {
  std::int64_t vocabulary = 30522, context = 512, types = 2, layers = 6, heads = 12, width = 384,
               hidden = 1536;
  double norm_eps = 1e-12;
};
// BERT: every token sees every other; post-LayerNorm blocks.
class PEL_API Bert : public Module {
 public:
  explicit Bert(const BertConfig& config);
  // Tokens, i64 [batch, tokens], and a mask of the valid ones, bool of the same sizes, to [batch, tokens,
  // width].
  Tensor operator()(const Tensor& tokens, const std::optional<Tensor>& mask = std::nullopt,
                    Site site = Site::current()) const;

  class PEL_API Layer : public Module {
   public:
    explicit Layer(const BertConfig& config);
    Tensor operator()(const Tensor& x, const std::optional<Tensor>& mask) const;
    MultiheadAttention attention;
    LayerNorm attention_norm;
    MLP mlp;
    LayerNorm output_norm;
  };
  Embedding words, positions, types;
  LayerNorm norm;
  ModuleList<Layer> layers;
};

}  // namespace pel::nn
