// The same calls as copy.cc in libtorch: inference mode.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>

#include "cases.h"

namespace {

struct Api {
  using Tensor = at::Tensor;
  static constexpr at::ScalarType kFloat = at::kFloat, kBfloat = at::kBFloat16, kByte = at::kByte;
  static void set_threads(int count) { at::set_num_threads(count); }
  static Tensor noise(const std::vector<std::int64_t>& sizes, at::ScalarType dtype) {
    return (at::rand(sizes) * 100).to(dtype);
  }
  static Tensor cast(const Tensor& x, at::ScalarType dtype) { return x.to(dtype); }
};

}  // namespace

int main(int argc, char** argv) {
  const c10::InferenceMode inference;
  return bench::serve(argc, argv, bench::copy_cases<Api>());
}
