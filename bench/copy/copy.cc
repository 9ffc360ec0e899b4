// Copies, transposes, casts and fills. On one thread and on two.
#include <pellucid/pellucid.h>

#include "cases.h"

namespace {

struct Api {
  using Tensor = pel::Tensor;
  static constexpr pel::DType kFloat = pel::kF32, kBfloat = pel::kBF16, kByte = pel::kU8;
  static void set_threads(int count) { pel::set_thread_count(count); }
  static Tensor noise(const std::vector<std::int64_t>& sizes, pel::DType dtype) {
    const std::vector<pel::Dim> dims(sizes.begin(), sizes.end());
    return pel::to_copy(pel::mul(pel::rand(dims), 100), dtype);
  }
  static Tensor cast(const Tensor& x, pel::DType dtype) { return x.to(dtype); }
};

}  // namespace

int main(int argc, char** argv) { return bench::serve(argc, argv, bench::copy_cases<Api>()); }
