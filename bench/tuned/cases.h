// The cases of both sides: a side is how the calls are made, from the op and from the ops that it is made of.
#pragma once

#include <string>
#include <tuple>
#include <vector>

#include <pellucid/pellucid.h>

#include "../support/lazy.h"
#include "../support/server.h"

namespace bench {

using pel::Tensor;

struct TunedApi {
  static void set_threads(int count) { pel::set_thread_count(count); }
};

inline Tensor noise(pel::Dims sizes, pel::DType dtype) { return pel::to_copy(pel::randn(sizes), dtype); }

// `side(op, parts)` returns the function that is called.
template <class Side>
std::vector<Case> tuned_cases(Side side) {
  constexpr std::int64_t kRows = 512, kWidth = 768, kHidden = 3072, kFeatures = 256, kClasses = 32'000;
  std::vector<Case> cases;
  for (const auto& [suffix, dtype] : {std::pair{"f32", pel::kF32}, std::pair{"bf16", pel::kBF16}}) {
    const auto input = [dtype = dtype](std::int64_t rows, std::int64_t columns) {
      return Lazy([rows, columns, dtype] { return noise({rows, columns}, dtype); });
    };
    const auto add = [&](const std::string& name, auto call) {
      add_by_threads<TunedApi>(cases, name + "_" + suffix, call);
    };
    const auto x = input(kRows, kWidth), y = input(kRows, kWidth), gate = input(kRows, kHidden),
               up = input(kRows, kHidden), weight = input(kHidden, kWidth), row = input(1, kWidth),
               wide_row = input(1, kHidden), features = input(kRows, kFeatures),
               classes = input(kClasses, kFeatures), logits = input(kRows, kClasses);
    const Lazy target([] { return pel::randint(0, kClasses, {kRows}); });

    const auto swiglu = side([](const Tensor& a, const Tensor& b) { return pel::swiglu(a, b); },
                             [](const Tensor& a, const Tensor& b) { return pel::silu(a) * b; });
    add("swiglu", [=] { return swiglu(gate(), up()); });
    const auto rms = side([](const Tensor& a, const Tensor& b,
                             const Tensor& w) { return pel::add_rms_norm(a, b, {kWidth}, w.select(0, 0)); },
                          [](const Tensor& a, const Tensor& b, const Tensor& w) {
                            const Tensor sum = a + b;
                            return std::tuple(pel::rms_norm(sum, {kWidth}, w.select(0, 0)), sum);
                          });
    add("add_rms_norm", [=] { return rms(x(), y(), row()); });
    const auto layer = side(
        [](const Tensor& a, const Tensor& b, const Tensor& w) {
          return pel::add_layer_norm(a, b, {kWidth}, w.select(0, 0), w.select(0, 0));
        },
        [](const Tensor& a, const Tensor& b, const Tensor& w) {
          const Tensor sum = a + b;
          return std::tuple(pel::layer_norm(sum, {kWidth}, w.select(0, 0), w.select(0, 0)), sum);
        });
    add("add_layer_norm", [=] { return layer(x(), y(), row()); });
    const auto fused = side(
        [](const Tensor& a, const Tensor& w, const Tensor& bias, const Tensor& residual) {
          return pel::fused_linear(a, w, bias.select(0, 0), pel::LinearActivation::GeluTanh, residual);
        },
        [](const Tensor& a, const Tensor& w, const Tensor& bias, const Tensor& residual) {
          return pel::gelu(pel::linear(a, w, bias.select(0, 0)), pel::GeluApproximate::Tanh) + residual;
        });
    add("fused_linear", [=] { return fused(x(), weight(), wide_row(), up()); });
    const auto loss = side([](const Tensor& a, const Tensor& t) { return pel::softmax_cross_entropy(a, t); },
                           [](const Tensor& a, const Tensor& t) { return pel::cross_entropy(a, t); });
    add("softmax_cross_entropy", [=] { return loss(logits(), target()); });
    const auto linear_loss = side(
        [](const Tensor& a, const Tensor& w, const Tensor& t) { return pel::linear_cross_entropy(a, w, t); },
        [](const Tensor& a, const Tensor& w, const Tensor& t) {
          return pel::cross_entropy(pel::linear(a, w), t);
        });
    add("linear_cross_entropy", [=] { return linear_loss(features(), classes(), target()); });
  }
  return cases;
}

}  // namespace bench
