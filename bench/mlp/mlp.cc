// A GeGLU MLP, eager: five kernels.
#include <pellucid/pellucid.h>

#include "cases.h"

namespace {

struct Api {
  static constexpr pel::DType kFloat = pel::kF32, kBfloat = pel::kBF16;
  static void set_threads(int count) { pel::set_thread_count(count); }
  static pel::Tensor noise(std::int64_t rows, std::int64_t columns, pel::DType dtype) {
    return pel::to_copy(pel::mul(pel::randn({rows, columns}), 0.05), dtype);
  }
  static pel::Tensor linear(const pel::Tensor& x, const pel::Tensor& weight) {
    return pel::linear(x, weight);
  }
  static pel::Tensor gelu(const pel::Tensor& x) { return pel::gelu(x, pel::GeluApproximate::Tanh); }
  static pel::Tensor mul(const pel::Tensor& a, const pel::Tensor& b) { return pel::mul(a, b); }
};

}  // namespace

int main(int argc, char** argv) { return bench::serve(argc, argv, bench::mlp_cases<Api>()); }
