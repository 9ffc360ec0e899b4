// Ops that only move elements. `Api` is ours or the peer's.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "../support/lazy.h"
#include "../support/server.h"

namespace bench {

template <class Api>
std::vector<Case> copy_cases() {
  using Tensor = typename Api::Tensor;
  std::vector<Case> cases;
  const auto add = [&](const std::string& name, auto x, auto f) {
    add_by_threads<Api>(cases, name, [x, f] { return f(x()); });
  };
  const auto noise = [](std::initializer_list<std::int64_t> sizes, auto dtype) {
    return Lazy([sizes = std::vector<std::int64_t>(sizes), dtype] { return Api::noise(sizes, dtype); });
  };
  const auto transposed = [](const Tensor& x) { return x.t().contiguous(); };
  add("transpose_1024_f32", noise({1024, 1024}, Api::kFloat), transposed);
  add("transpose_1000_f32", noise({1000, 1000}, Api::kFloat), transposed);
  add("transpose_4096x2048_f32", noise({4096, 2048}, Api::kFloat), transposed);
  add("transpose_1024_bf16", noise({1024, 1024}, Api::kBfloat), transposed);
  add("transpose_4096_u8", noise({4096, 4096}, Api::kByte), transposed);
  add("heads_8x128x4x64_f32", noise({8, 128, 4, 64}, Api::kFloat),
      [](const Tensor& x) { return x.transpose(1, 2).contiguous(); });
  add("clone_32MB_f32", noise({4096, 2048}, Api::kFloat), [](const Tensor& x) { return x.clone(); });
  add("zero_32MB_f32", noise({4096, 2048}, Api::kFloat), [](const Tensor& x) {
    Tensor same = x;
    return same.zero_();
  });
  add("f32_to_bf16_32MB", noise({4096, 2048}, Api::kFloat),
      [](const Tensor& x) { return Api::cast(x, Api::kBfloat); });
  add("bf16_to_f32_16MB", noise({4096, 2048}, Api::kBfloat),
      [](const Tensor& x) { return Api::cast(x, Api::kFloat); });
  return cases;
}

}  // namespace bench
