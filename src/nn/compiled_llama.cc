#include <algorithm>

#include "pellucid/autograd.h"
#include "pellucid/nn/generation.h"
#include "pellucid/ops.h"
#include "pellucid/ops/indexing.h"

#include "base/check.h"
#include "nn/tokens_before.h"

namespace pel::nn {
namespace {

// The inputs of a graph. The keys and values of each layer follow, alternating.
enum Input : std::size_t {
  kTokens,   // i64 [batch, tokens]
  kLast,     // i64 [batch]: the token of each sequence that counts as its last
  kLengths,  // i64 [batch]: how many tokens the cache holds
  kKeys,     // i64, counting from 0: as many as there are keys to attend to
  kSlots,
};

Tensor next_of(const Llama& model, ArrayView<Tensor> in, const Tensor& x, const Positions& positions) {
  Tensor out = x;
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const KVSlots slots{in[kSlots + 2 * i], in[kSlots + 2 * i + 1]};
    out = model.layers[i](out, {.positions = &positions, .slots = &slots});
  }
  return model.logits(index(out, {arange(x.size(0), x.device()), in[kLast]}));
}

auto beginning(const Llama& model) {
  return [&model](ArrayView<Tensor> in) -> std::vector<Tensor> {
    const Tensor x = model.embed(in[kTokens]);
    return {next_of(model, in, x, model.layers[0].attention.positions_of(x, nullptr))};
  };
}
auto going_on(const Llama& model) {
  return [&model](ArrayView<Tensor> in) -> std::vector<Tensor> {
    const Tensor x = model.embed(in[kTokens]);
    const Tensor position = in[kLengths].view({x.size(0), 1, 1}) + arange(x.size(1), x.device());
    return {next_of(model, in, x, model.layers[0].attention.positions_at(position, x, in[kKeys]))};
  };
}

}  // namespace

CompiledLlama::CompiledLlama(const Llama& model, const CompileOptions& options)
    : model_(model), prefill_(beginning(model), options), decode_(going_on(model), options) {}

Tensor CompiledLlama::next_logits(const Tensor& given, KVCaches& caches, ArrayView<std::int64_t> counts,
                                  Site site) const {
  return as_call("CompiledLlama", site, [&] {
    const Tensor tokens = given.to(model_.embed.weight.device());
    const LlamaConfig& config = model_.config();
    const std::int64_t before = tokens_before(&caches, config.layers, tokens, config.context);
    const InferenceMode inference;
    const std::int64_t batch = tokens.size(0).value(), count = tokens.size(1).value();
    const DType dtype = autocast_dtype().value_or(model_.embed.weight.dtype());
    std::vector<Tensor> inputs(kSlots);
    for (KVCache& cache : caches) {
      const KVSlots& slots =
          cache.reserve({batch, model_.layers[0].attention.kv_heads(), count, config.width / config.heads},
                        {dtype, tokens.device()}, counts);
      inputs.push_back(slots.keys);
      inputs.push_back(slots.values);
    }
    std::vector<std::int64_t> last(static_cast<std::size_t>(batch), count - 1);
    for (std::size_t i = 0; i < counts.size(); ++i) last[i] = std::max<std::int64_t>(counts[i], 1) - 1;
    const std::int64_t capacity = inputs[kSlots].size(2).value();
    const std::int64_t keys = (before + count + kKeysPerPlan - 1) / kKeysPerPlan * kKeysPerPlan;
    inputs[kTokens] = tokens.contiguous();  // another order of strides would need another graph
    inputs[kLast] = from_data(last, {batch}).to(tokens.device());
    inputs[kLengths] = from_data(caches.front().lengths(), {batch}).to(tokens.device());
    inputs[kKeys] = arange(std::min(keys, capacity), tokens.device());
    Tensor logits = (before == 0 ? prefill_ : decode_)(inputs)[0];
    for (KVCache& cache : caches) cache.advance(count, counts);
    return logits;
  });
}

}  // namespace pel::nn
