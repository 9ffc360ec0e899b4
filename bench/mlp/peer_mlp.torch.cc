// The same calls as mlp.cc in libtorch: inference mode.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>

#include "cases.h"

namespace {

struct Api {
  static constexpr at::ScalarType kFloat = at::kFloat, kBfloat = at::kBFloat16;
  static void set_threads(int count) { at::set_num_threads(count); }
  static at::Tensor noise(std::int64_t rows, std::int64_t columns, at::ScalarType dtype) {
    return at::randn({rows, columns}).mul(0.05).to(dtype);
  }
  static at::Tensor linear(const at::Tensor& x, const at::Tensor& weight) { return at::linear(x, weight); }
  static at::Tensor gelu(const at::Tensor& x) { return at::gelu(x, "tanh"); }
  static at::Tensor mul(const at::Tensor& a, const at::Tensor& b) { return at::mul(a, b); }
};

}  // namespace

int main(int argc, char** argv) {
  const c10::InferenceMode inference;
  return bench::serve(argc, argv, bench::mlp_cases<Api>());
}
