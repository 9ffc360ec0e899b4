// Our side of the language model's cases: the model itself, or its compiled graphs.
#pragma once

#include <memory>

#include <pellucid/pellucid.h>

#include "cases.h"

namespace bench {

// `By` is a Llama&, or constructed from one.
template <class By>
struct LlmModel {
  explicit LlmModel(pel::DType dtype)
      : llama({.vocabulary = kVocabulary,
               .context = kContext + 64,
               .layers = kLayers,
               .heads = kHeads,
               .kv_heads = kKvHeads,
               .width = kWidth,
               .hidden = kHidden,
               .rotary_base = kRotaryBase,
               .norm_eps = kNormEps}),
        by((llama.to(dtype), llama.eval(), llama)),
        caches(llama.make_caches()),
        prompt(pel::randint(0, kVocabulary, {1, kContext})),
        token(prompt.narrow(1, 0, 1)) {}
  pel::Tensor prefill() {
    const pel::InferenceMode inference;
    for (pel::nn::KVCache& cache : caches) cache.clear();
    return by.next_logits(prompt, caches);
  }
  pel::Tensor decode() {
    const pel::InferenceMode inference;
    if (caches.front().length() == 0) prefill();
    pel::Tensor logits = by.next_logits(token, caches);
    for (pel::nn::KVCache& cache : caches) cache.truncate(kContext);
    return logits;
  }
  pel::nn::Llama llama;
  By by;
  pel::nn::KVCaches caches;
  pel::Tensor prompt, token;
};

template <class By>
struct LlmApi {
  static constexpr pel::DType kFloat = pel::kF32, kBfloat = pel::kBF16;
  static void set_threads(int count) { pel::set_thread_count(count); }
  static std::shared_ptr<LlmModel<By>> model(pel::DType dtype) {
    return std::make_shared<LlmModel<By>>(dtype);
  }
};

}  // namespace bench
