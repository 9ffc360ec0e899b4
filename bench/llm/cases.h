// The cases of both sides: a model of SmolLM2-135M's sizes reads 512 tokens, and writes one after 512.
#pragma once

#include <string>
#include <vector>

#include "../support/lazy.h"
#include "../support/server.h"

namespace bench {

inline constexpr std::int64_t kVocabulary = 49152, kLayers = 30, kHeads = 9, kKvHeads = 3, kWidth = 576,
                              kHidden = 1536, kHeadWidth = 64, kContext = 512;
inline constexpr double kRotaryBase = 100000, kNormEps = 1e-5;

template <class Api>
std::vector<Case> llm_cases() {
  std::vector<Case> cases;
  for (const auto& [dtype_name, dtype] : {std::pair{"f32", Api::kFloat}, std::pair{"bf16", Api::kBfloat}}) {
    const Lazy model([dtype = dtype] { return Api::model(dtype); });
    add_by_threads<Api>(cases, std::string("prefill_512_") + dtype_name,
                        [model] { return model()->prefill(); });
    add_by_threads<Api>(cases, std::string("decode_at_512_") + dtype_name,
                        [model] { return model()->decode(); });
  }
  return cases;
}

}  // namespace bench
