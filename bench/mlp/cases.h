// The cases of both sides: down(gelu(gate(x)) up(x)), 768 to 3072 and back, without biases.
#pragma once

#include <string>
#include <vector>

#include "../support/lazy.h"
#include "../support/server.h"

namespace bench {

template <class Api>
std::vector<Case> mlp_cases() {
  constexpr std::int64_t kWidth = 768, kHidden = 3072;
  std::vector<Case> cases;
  for (const auto& [dtype_name, dtype] : {std::pair{"f32", Api::kFloat}, std::pair{"bf16", Api::kBfloat}}) {
    const Lazy gate([dtype = dtype] { return Api::noise(kHidden, kWidth, dtype); });
    const Lazy up([dtype = dtype] { return Api::noise(kHidden, kWidth, dtype); });
    const Lazy down([dtype = dtype] { return Api::noise(kWidth, kHidden, dtype); });
    for (const std::int64_t rows : {8192, 512}) {
      const Lazy x([rows, dtype = dtype] { return Api::noise(rows, kWidth, dtype); });
      add_by_threads<Api>(cases, std::to_string(rows) + "_" + dtype_name, [x, gate, up, down] {
        return Api::linear(Api::mul(Api::gelu(Api::linear(x(), gate())), Api::linear(x(), up())), down());
      });
    }
  }
  return cases;
}

}  // namespace bench
