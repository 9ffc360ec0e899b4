// The cases with libtorch's kernels.
#pragma once

#include <memory>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>

#include "cases.h"

namespace bench {

struct Torchs {
  using Tensor = at::Tensor;
  static constexpr at::ScalarType kFloat = at::kFloat, kBfloat = at::kBFloat16;
  static void set_threads(int count) { at::set_num_threads(count); }
  static Tensor noise(const std::vector<std::int64_t>& sizes, at::ScalarType dtype) {
    return at::randn(sizes).to(dtype);
  }
  static Tensor gelu(const Tensor& x) { return at::gelu(x); }
  static Tensor softmax(const Tensor& x) { return at::softmax(x, -1); }
  static Tensor layer_norm(const Tensor& x) { return at::layer_norm(x, {x.sizes()[1]}); }
  static Tensor matmul(const Tensor& a, const Tensor& b) { return at::matmul(a, b); }
  static Tensor attention(const Tensor& query, const Tensor& keys) {
    return at::scaled_dot_product_attention(query, keys, keys);
  }
  static Tensor convolution(const Tensor& x, const Tensor& weight) { return at::conv2d(x, weight, {}, 1, 1); }
  static auto adamw(std::int64_t size) {
    struct State {
      at::Tensor param, grad, first, second, step = at::zeros({});
    };
    const auto noise = [size] { return at::randn({size}); };
    const auto state = std::make_shared<State>(State{noise(), noise(), at::zeros({size}), at::zeros({size})});
    return [state] {
      at::_fused_adamw_(state->param, state->grad, state->first, state->second, {}, state->step, 1e-3, 0.9,
                        0.999, 0, 1e-8, false, false);
      return state->param;
    };
  }
};

}  // namespace bench
