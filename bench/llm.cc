// A language model: logits of the last of 512 tokens, and of one token behind them.
#include <pellucid/pellucid.h>

#include "llm_cases.h"

namespace {

struct Model {
  explicit Model(pel::DType dtype)
      : llama({.vocabulary = bench::kVocabulary,
               .context = bench::kContext + 64,
               .layers = bench::kLayers,
               .heads = bench::kHeads,
               .kv_heads = bench::kKvHeads,
               .width = bench::kWidth,
               .hidden = bench::kHidden,
               .rotary_base = bench::kRotaryBase,
               .norm_eps = bench::kNormEps}),
        caches(llama.make_caches()),
        prompt(pel::randint(0, bench::kVocabulary, {1, bench::kContext})),
        token(prompt.narrow(1, 0, 1)) {
    llama.to(dtype);
    llama.eval();
  }
  pel::Tensor prefill() {
    const pel::InferenceMode inference;
    for (pel::nn::KvCache& cache : caches) cache.clear();
    return llama.logits(llama.features(prompt, &caches).select(1, bench::kContext - 1));
  }
  pel::Tensor decode() {
    const pel::InferenceMode inference;
    if (caches.front().length() == 0) prefill();
    pel::Tensor logits = llama.logits(llama.features(token, &caches).select(1, 0));
    for (pel::nn::KvCache& cache : caches) cache.truncate(bench::kContext);
    return logits;
  }
  pel::nn::Llama llama;
  pel::nn::KvCaches caches;
  pel::Tensor prompt, token;
};

struct Api {
  static constexpr pel::DType kFloat = pel::kF32, kBfloat = pel::kBF16;
  static void set_threads(int count) { pel::set_thread_count(count); }
  static std::shared_ptr<Model> model(pel::DType dtype) { return std::make_shared<Model>(dtype); }
};

}  // namespace

int main(int argc, char** argv) { return bench::serve(argc, argv, bench::llm_cases<Api>()); }
