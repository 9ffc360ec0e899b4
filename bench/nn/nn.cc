// Layers of image models: convolutions, pooling, resampling. On one thread and on two.
#include <pellucid/pellucid.h>

#include "cases.h"

namespace {

struct Api {
  using Tensor = pel::Tensor;
  static constexpr pel::DType kFloat = pel::kF32, kBfloat = pel::kBF16;
  static void set_threads(int count) { pel::set_thread_count(count); }
  static Tensor vector(std::int64_t size, pel::DType dtype) {
    return pel::to_copy(pel::randn({size}), dtype);
  }
  static Tensor image(std::int64_t batch, std::int64_t channels, std::int64_t height, std::int64_t width,
                      pel::DType dtype, bool channels_last) {
    if (!channels_last) return pel::to_copy(pel::randn({batch, channels, height, width}), dtype);
    return pel::to_copy(pel::randn({batch, height, width, channels}), dtype).permute({0, 3, 1, 2});
  }
  static Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias, std::int64_t stride,
                       std::int64_t padding, std::int64_t groups) {
    return pel::conv2d(x, weight, bias, {stride}, {padding}, {1}, groups);
  }
  static Tensor max_pool2d(const Tensor& x, std::int64_t kernel, std::int64_t stride, std::int64_t padding) {
    return pel::max_pool2d(x, {kernel}, {stride}, {padding});
  }
  static Tensor avg_pool2d(const Tensor& x, std::int64_t kernel, std::int64_t stride, std::int64_t padding) {
    return pel::avg_pool2d(x, {kernel}, {stride}, {padding});
  }
  static Tensor adaptive_avg_pool2d(const Tensor& x, std::int64_t size) {
    return pel::adaptive_avg_pool2d(x, {size, size});
  }
  static Tensor upsample_bilinear2d(const Tensor& x, std::int64_t size) {
    return pel::upsample_bilinear2d(x, {size, size}, pel::AlignCorners::No);
  }
};

}  // namespace

int main(int argc, char** argv) { return bench::serve(argc, argv, bench::nn_cases<Api>()); }
