#include "pellucid/nn/pretrained.h"

#include "pellucid/autograd.h"
#include "pellucid/nn/init.h"
#include "pellucid/ops.h"
#include "pellucid/ops/indexing.h"

#include "base/check.h"

namespace pel::io {
namespace {

void take(nn::Module& model, const std::vector<NamedTensor>& weights) {
  model.adopt(weights);
  model.eval();
}

// llama.cpp rotates neighbours (2i, 2i + 1) of a head by one angle, and this library (i, i + width / 2):
// reorders the rows.
Tensor unpaired(const Tensor& weight, std::int64_t heads) {
  const std::int64_t half = weight.size(0).value() / heads / 2, in = weight.size(1).value();
  return weight.view({heads, half, 2, in}).transpose(1, 2).reshape({heads * half * 2, in});
}

nn::LlamaConfig llama_config(const GgufFile& file) {
  const std::string& architecture = file.text("general.architecture");
  PEL_CHECK(architecture == "llama", FileError, "the architecture is {}; only llama is supported",
            architecture);
  nn::LlamaConfig config;
  config.layers = file.integer("llama.block_count");
  config.context = file.integer("llama.context_length");
  config.width = file.integer("llama.embedding_length");
  config.hidden = file.integer("llama.feed_forward_length");
  config.heads = file.integer("llama.attention.head_count");
  config.kv_heads = file.has_key("llama.attention.head_count_kv")
                        ? file.integer("llama.attention.head_count_kv")
                        : config.heads;
  config.norm_eps = file.number("llama.attention.layer_norm_rms_epsilon");
  if (file.has_key("llama.rope.freq_base")) config.rotary_base = file.number("llama.rope.freq_base");
  config.ties_weights = !file.has("output.weight");
  for (const std::int64_t* size :
       {&config.layers, &config.context, &config.width, &config.hidden, &config.heads, &config.kv_heads})
    PEL_CHECK(*size > 0 && *size < (std::int64_t{1} << 24), FileError,
              "the metadata llama.* has a size of {}, which is out of range", *size);
  PEL_CHECK(config.width % config.heads == 0 && config.width / config.heads % 2 == 0 &&
                config.heads % config.kv_heads == 0,
            FileError,
            "the width must be a multiple of the heads, and these of the key-value heads, with an even head "
            "size: the width is {}, with {} heads and {} key-value heads",
            config.width, config.heads, config.kv_heads);
  for (const char* scaled : {"llama.rope.scaling.type", "llama.rope.scaling.factor"})
    PEL_CHECK(!file.has_key(scaled), FileError, "{} is set, but scaled rotary embedding is not supported",
              scaled);
  return config;
}

}  // namespace

std::unique_ptr<nn::Llama> load_llama(const GgufFile& file, DType dtype, Site site) {
  return as_call("load_llama", site, [&] {
    nn::LlamaConfig config = llama_config(file);
    const NoGrad no_grad;
    const auto weight = [&](const std::string& name) { return file.tensor(name + ".weight", dtype); };
    const Tensor embed = weight("token_embd");
    config.vocabulary = embed.size(0).value();
    const nn::SkipInit skip;
    auto model = std::make_unique<nn::Llama>(config);
    std::vector<NamedTensor> weights = {{"embed.weight", embed}, {"norm.weight", weight("output_norm")}};
    if (!config.ties_weights) weights.push_back({"head.weight", weight("output")});
    for (std::int64_t i = 0; i < config.layers; ++i) {
      const std::string from = fmt::format("blk.{}.", i), to = fmt::format("layers.{}.", i);
      const Tensor qkv = cat({unpaired(weight(from + "attn_q"), config.heads),
                              unpaired(weight(from + "attn_k"), config.kv_heads), weight(from + "attn_v")});
      weights.push_back({to + "attention.qkv.weight", qkv});
      const std::pair<const char*, const char*> names[] = {
          {"attention.out", "attn_output"}, {"input_norm", "attn_norm"}, {"post_norm", "ffn_norm"},
          {"mlp.gate", "ffn_gate"},         {"mlp.up", "ffn_up"},        {"mlp.down", "ffn_down"}};
      for (const auto& [ours, theirs] : names)
        weights.push_back({to + ours + ".weight", weight(from + theirs)});
    }
    take(*model, weights);
    return model;
  });
}

std::unique_ptr<nn::Bert> load_bert(const SafetensorsFile& file, const nn::BertConfig& base, Site site) {
  return as_call("load_bert", site, [&] {
    nn::BertConfig config = base;
    const NoGrad no_grad;
    std::vector<NamedTensor> weights;
    const auto put = [&](const std::string& ours, const std::string& theirs) {
      for (const char* part : {".weight", ".bias"})
        weights.push_back({ours + part, file.tensor(theirs + part)});
    };
    for (const auto& [ours, theirs] :
         {std::pair{"words", "word"}, {"positions", "position"}, {"types", "token_type"}})
      weights.push_back({std::string(ours) + ".weight",
                         file.tensor(fmt::format("embeddings.{}_embeddings.weight", theirs))});
    put("norm", "embeddings.LayerNorm");
    config.layers = 0;
    for (;; ++config.layers) {
      const std::string from = fmt::format("encoder.layer.{}.", config.layers),
                        to = fmt::format("layers.{}.", config.layers);
      if (!file.has(from + "output.dense.weight")) break;
      for (const char* part : {".weight", ".bias"}) {
        const auto of = [&](const char* which) {
          return file.tensor(from + "attention.self." + which + part);
        };
        weights.push_back({to + "attention.qkv" + part, cat({of("query"), of("key"), of("value")})});
      }
      put(to + "attention.out", from + "attention.output.dense");
      put(to + "attention_norm", from + "attention.output.LayerNorm");
      put(to + "mlp.fc", from + "intermediate.dense");
      put(to + "mlp.proj", from + "output.dense");
      put(to + "output_norm", from + "output.LayerNorm");
    }
    PEL_CHECK(config.layers > 0, FileError, "the file has no tensors of encoder.layer.0");
    config.vocabulary = weights[0].tensor.size(0).value();
    config.width = weights[0].tensor.size(1).value();
    config.context = weights[1].tensor.size(0).value();
    config.types = weights[2].tensor.size(0).value();
    config.hidden = file.tensor("encoder.layer.0.intermediate.dense.weight").size(0).value();
    const nn::SkipInit skip;
    auto model = std::make_unique<nn::Bert>(config);
    take(*model, weights);
    return model;
  });
}

}  // namespace pel::io
