// Kernels of every family, from ten microseconds of work to a hundred milliseconds. An Api is ours or the
// peer's.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "../support/lazy.h"
#include "../support/server.h"

namespace bench {

// `threads` is for all cases of a process.
template <class Api>
std::vector<Case> thread_cases(int threads) {
  using Tensor = typename Api::Tensor;
  Api::set_threads(threads);
  std::vector<Case> cases;
  const auto noise = [](std::vector<std::int64_t> sizes, auto dtype) {
    return Lazy([sizes, dtype] { return Api::noise(sizes, dtype); });
  };
  const auto add = [&](const std::string& name, auto x, auto f) {
    cases.emplace_back(name, [x, f] { return f(x()); });
  };
  const auto add_two = [&](const std::string& name, auto a, auto b, auto f) {
    cases.emplace_back(name, [a, b, f] { return f(a(), b()); });
  };

  // Compute-bound, and bound by memory.
  for (const auto& [name, size] :
       {std::pair{"16K", 1 << 14}, std::pair{"256K", 1 << 18}, std::pair{"4M", 1 << 22}}) {
    const auto x = noise({size}, Api::kFloat);
    add(std::string("gelu_") + name, x, [](const Tensor& t) { return Api::gelu(t); });
    add_two(std::string("add_") + name, x, noise({size}, Api::kFloat),
            [](const Tensor& a, const Tensor& b) { return a + b; });
    add(std::string("clone_") + name, x, [](const Tensor& t) { return t.clone(); });
  }
  for (const std::int64_t rows : {16, 256, 4096}) {
    const auto x = noise({rows, 768}, Api::kFloat);
    add("softmax_" + std::to_string(rows) + "x768", x, [](const Tensor& t) { return Api::softmax(t); });
    add("layer_norm_" + std::to_string(rows) + "x768", x, [](const Tensor& t) { return Api::layer_norm(t); });
  }
  for (const auto& [dtype_name, dtype] : {std::pair{"f32", Api::kFloat}, std::pair{"bf16", Api::kBfloat}}) {
    for (const std::int64_t size : {64, 128, 256, 512, 1024, 2048})
      add_two("matmul_" + std::to_string(size) + "_" + dtype_name, noise({size, size}, dtype),
              noise({size, size}, dtype), [](const Tensor& a, const Tensor& b) { return Api::matmul(a, b); });
    for (const std::int64_t rows : {1, 8})
      add_two("matmul_" + std::to_string(rows) + "x3072x768_" + dtype_name, noise({rows, 768}, dtype),
              noise({768, 3072}, dtype), [](const Tensor& a, const Tensor& b) { return Api::matmul(a, b); });
    for (const std::int64_t tokens : {32, 128, 512}) {
      const auto heads = noise({1, 12, tokens, 64}, dtype);
      add("attention_" + std::to_string(tokens) + "_" + dtype_name, heads,
          [](const Tensor& x) { return Api::attention(x, x); });
    }
    for (const std::int64_t keys : {512, 8192})
      add_two("decode_" + std::to_string(keys) + "_" + dtype_name, noise({1, 12, 1, 64}, dtype),
              noise({1, 12, keys, 64}, dtype),
              [](const Tensor& q, const Tensor& k) { return Api::attention(q, k); });
  }
  for (const std::int64_t size : {7, 28, 112})
    add_two("conv_64x" + std::to_string(size), noise({1, 64, size, size}, Api::kFloat),
            noise({64, 64, 3, 3}, Api::kFloat),
            [](const Tensor& x, const Tensor& weight) { return Api::convolution(x, weight); });
  for (const auto& [name, size] : {std::pair{"16K", 1 << 14}, std::pair{"4M", 1 << 22}}) {
    const Lazy step([size = std::int64_t{size}] { return Api::adamw(size); });
    cases.emplace_back(std::string("adamw_") + name, [step] { return step()(); });
  }
  return cases;
}

}  // namespace bench
