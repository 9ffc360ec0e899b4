// The cases of both sides: a call that records a node, forward and backward of a GeGLU MLP, and one step of
// AdamW over 100 tensors.
#pragma once

#include <string>
#include <vector>

#include "../support/lazy.h"
#include "../support/server.h"

namespace bench {

template <class Api>
std::vector<Case> autograd_cases() {
  constexpr std::int64_t kWidth = 768, kHidden = 3072;
  std::vector<Case> cases;
  const auto small = Api::parameter(4, 4, Api::kFloat), bias = Api::vector(4);
  cases.emplace_back("add_4x4", [small] {
    Api::set_threads(1);
    return Api::add(small, small);
  });
  cases.emplace_back("linear_4x4", [small, bias] {
    Api::set_threads(1);
    return Api::linear(small, small, bias);
  });
  for (const auto& [dtype_name, dtype] : {std::pair{"f32", Api::kFloat}, std::pair{"bf16", Api::kBfloat}}) {
    const Lazy gate([dtype = dtype] { return Api::parameter(kHidden, kWidth, dtype); });
    const Lazy up([dtype = dtype] { return Api::parameter(kHidden, kWidth, dtype); });
    const Lazy down([dtype = dtype] { return Api::parameter(kWidth, kHidden, dtype); });
    for (const std::int64_t rows : {512, 8192}) {
      const Lazy x([rows, dtype = dtype] { return Api::parameter(rows, kWidth, dtype); });
      const Lazy slope([rows, dtype = dtype] { return Api::noise(rows, kWidth, dtype); });
      add_by_threads<Api>(
          cases, "mlp_" + std::to_string(rows) + "_" + dtype_name, [x, slope, gate, up, down] {
            const auto hidden = Api::mul(Api::gelu(Api::linear(x(), gate())), Api::linear(x(), up()));
            return Api::gradients(Api::linear(hidden, down()), slope(), {x(), gate(), up(), down()});
          });
    }
  }
  for (const std::int64_t size : {16, 256}) {
    const Lazy optimizer([size] { return Api::adamw(100, size); });
    add_by_threads<Api>(cases, "adamw_100_of_" + std::to_string(size) + "x" + std::to_string(size),
                        [optimizer] { optimizer()->step(); });
  }
  return cases;
}

}  // namespace bench
