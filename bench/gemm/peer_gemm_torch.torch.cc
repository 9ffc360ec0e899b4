// The same calls as gemm.cc in libtorch: inference mode.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>

#include "cases.h"

namespace {

struct Api {
  using Tensor = at::Tensor;
  static constexpr at::ScalarType kFloat = at::kFloat, kBfloat = at::kBFloat16;
  static void set_threads(int count) { at::set_num_threads(count); }
  static Tensor noise(std::int64_t rows, std::int64_t columns, at::ScalarType dtype) {
    return at::randn({rows, columns}).to(dtype);
  }
  static Tensor transposed(const Tensor& x) { return x.t(); }
  static constexpr bool kPacks = false;
  static auto prepare(const Tensor& a, const Tensor& b) {
    return [a, b] { return at::mm(a, b); };
  }
};

}  // namespace

int main(int argc, char** argv) {
  const c10::InferenceMode inference;
  return bench::serve(argc, argv, bench::gemm_cases<Api>());
}
