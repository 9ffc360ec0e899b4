// GEMM: the shapes of an MLP, and square matrices.
#include <pellucid/pellucid.h>

#include "cases.h"

namespace {

struct Api {
  using Tensor = pel::Tensor;
  static constexpr pel::DType kFloat = pel::kF32, kBfloat = pel::kBF16;
  static void set_threads(int count) { pel::set_thread_count(count); }
  static Tensor noise(std::int64_t rows, std::int64_t columns, pel::DType dtype) {
    return pel::to_copy(pel::randn({rows, columns}), dtype);
  }
  static Tensor transposed(const Tensor& x) { return x.t(); }
  static constexpr bool kPacks = true;
  static auto prepare(const Tensor& a, const Tensor& b, bool packed) {
    return [a, b, packing = packed ? pel::pack(b) : pel::PackedMatrix()] { return pel::mm(a, b); };
  }
};

}  // namespace

int main(int argc, char** argv) { return bench::serve(argc, argv, bench::gemm_cases<Api>()); }
