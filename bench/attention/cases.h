// The cases of both sides: twelve heads of 64, over whole sequences and for one new query with a cache of
// keys.
#pragma once

#include <string>
#include <vector>

#include "../support/lazy.h"
#include "../support/server.h"

namespace bench {

template <class Api>
std::vector<Case> attention_cases() {
  struct Shape {
    const char* name;
    std::int64_t queries, keys;
    bool is_causal;
  };
  constexpr Shape kShapes[] = {{"128", 128, 128, false},      {"128_causal", 128, 128, true},
                               {"1024", 1024, 1024, false},   {"1024_causal", 1024, 1024, true},
                               {"4096", 4096, 4096, false},   {"4096_causal", 4096, 4096, true},
                               {"decode_512", 1, 512, false}, {"decode_8192", 1, 8192, false}};
  std::vector<Case> cases;
  for (const auto& [dtype_name, dtype] : {std::pair{"f32", Api::kFloat}, std::pair{"bf16", Api::kBfloat}}) {
    for (const Shape& shape : kShapes) {
      const Lazy query([shape, dtype = dtype] { return Api::heads(shape.queries, dtype); });
      const Lazy key([shape, dtype = dtype] { return Api::heads(shape.keys, dtype); });
      const Lazy value([shape, dtype = dtype] { return Api::heads(shape.keys, dtype); });
      add_by_threads<Api>(cases, std::string(shape.name) + "_" + dtype_name, [query, key, value, shape] {
        return Api::attention(query(), key(), value(), shape.is_causal);
      });
    }
  }
  return cases;
}

}  // namespace bench
