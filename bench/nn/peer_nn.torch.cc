// The same calls as nn.cc in libtorch: inference mode.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>

#include "cases.h"

namespace {

struct Api {
  using Tensor = at::Tensor;
  static constexpr at::ScalarType kFloat = at::kFloat, kBfloat = at::kBFloat16;
  static void set_threads(int count) { at::set_num_threads(count); }
  static Tensor vector(std::int64_t size, at::ScalarType dtype) { return at::randn({size}).to(dtype); }
  static Tensor image(std::int64_t batch, std::int64_t channels, std::int64_t height, std::int64_t width,
                      at::ScalarType dtype, bool channels_last) {
    if (!channels_last) return at::randn({batch, channels, height, width}).to(dtype);
    return at::randn({batch, height, width, channels}).to(dtype).permute({0, 3, 1, 2});
  }
  static Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias, std::int64_t stride,
                       std::int64_t padding, std::int64_t groups) {
    return at::conv2d(x, weight, bias, stride, padding, 1, groups);
  }
  static Tensor max_pool2d(const Tensor& x, std::int64_t kernel, std::int64_t stride, std::int64_t padding) {
    return at::max_pool2d(x, kernel, stride, padding);
  }
  static Tensor avg_pool2d(const Tensor& x, std::int64_t kernel, std::int64_t stride, std::int64_t padding) {
    return at::avg_pool2d(x, kernel, stride, padding);
  }
  static Tensor adaptive_avg_pool2d(const Tensor& x, std::int64_t size) {
    return at::adaptive_avg_pool2d(x, {size, size});
  }
  static Tensor upsample_bilinear2d(const Tensor& x, std::int64_t size) {
    return at::upsample_bilinear2d(x, {size, size}, false);
  }
};

}  // namespace

int main(int argc, char** argv) {
  const c10::InferenceMode inference;
  return bench::serve(argc, argv, bench::nn_cases<Api>());
}
