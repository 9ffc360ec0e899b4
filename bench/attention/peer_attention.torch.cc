// The same calls as attention.cc in libtorch: inference mode.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>

#include "cases.h"

namespace {

struct Api {
  static constexpr at::ScalarType kFloat = at::kFloat, kBfloat = at::kBFloat16;
  static void set_threads(int count) { at::set_num_threads(count); }
  static at::Tensor heads(std::int64_t rows, at::ScalarType dtype) {
    return at::randn({1, 12, rows, 64}).to(dtype);
  }
  static at::Tensor attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                              bool is_causal) {
    return at::scaled_dot_product_attention(query, key, value, {}, 0.0, is_causal);
  }
};

}  // namespace

int main(int argc, char** argv) {
  const c10::InferenceMode inference;
  return bench::serve(argc, argv, bench::attention_cases<Api>());
}
