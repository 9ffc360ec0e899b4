// The cases with our kernels.
#pragma once

#include <memory>

#include <pellucid/pellucid.h>

#include "cases.h"

namespace bench {

struct Ours {
  using Tensor = pel::Tensor;
  static constexpr pel::DType kFloat = pel::kF32, kBfloat = pel::kBF16;
  static void set_threads(int count) { pel::set_thread_count(count); }
  static Tensor noise(const std::vector<std::int64_t>& sizes, pel::DType dtype) {
    return pel::to_copy(pel::randn(std::vector<pel::Dim>(sizes.begin(), sizes.end())), dtype);
  }
  static Tensor gelu(const Tensor& x) { return pel::gelu(x); }
  static Tensor softmax(const Tensor& x) { return pel::softmax(x, -1); }
  static Tensor layer_norm(const Tensor& x) { return pel::layer_norm(x, {x.sizes()[1]}); }
  static Tensor matmul(const Tensor& a, const Tensor& b) { return pel::matmul(a, b); }
  static Tensor attention(const Tensor& query, const Tensor& keys) {
    return pel::scaled_dot_product_attention(query, keys, keys);
  }
  static Tensor convolution(const Tensor& x, const Tensor& weight) {
    return pel::conv2d(x, weight, std::nullopt, {1}, {1});
  }
  static auto adamw(std::int64_t size) {
    struct State {
      pel::Tensor param, grad, first, second, step = pel::zeros({}), lr = pel::full({}, 1e-3);
    };
    const auto noise = [size] { return pel::randn({size}); };
    const auto state =
        std::make_shared<State>(State{noise(), noise(), pel::zeros({size}), pel::zeros({size})});
    return [state] {
      pel::internal::adam_step_(state->step, {state->param}, {state->first}, {state->second}, {state->grad},
                                state->lr);
      return state->param;
    };
  }
};

}  // namespace bench
