// The same calls as reductions.cc in libtorch: inference mode.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>

#include "cases.h"

namespace {

struct Api {
  using Tensor = at::Tensor;
  static constexpr at::ScalarType kFloat = at::kFloat, kBfloat = at::kBFloat16;
  static void set_threads(int count) { at::set_num_threads(count); }
  static Tensor ramp(std::int64_t rows, std::int64_t columns, at::ScalarType dtype) {
    return at::linspace(-4, 4, rows * columns).view({rows, columns}).to(dtype);
  }
  static Tensor sum(const Tensor& x, std::int64_t axis) { return at::sum(x, axis); }
  static Tensor amax(const Tensor& x, std::int64_t axis) { return at::amax(x, axis); }
  static Tensor argmax(const Tensor& x, std::int64_t axis) { return at::argmax(x, axis); }
  static Tensor softmax(const Tensor& x, std::int64_t axis) { return at::softmax(x, axis); }
  static Tensor layer_norm(const Tensor& x, const Tensor& weight) {
    const at::Tensor row = weight[0];
    return at::layer_norm(x, row.sizes(), row, row);
  }
  static Tensor rms_norm(const Tensor& x, const Tensor& weight) {
    const at::Tensor row = weight[0];
    return at::rms_norm(x, row.sizes(), row, 1e-5);
  }
  static Tensor noise(std::int64_t rows, std::int64_t columns) { return at::randn({rows, columns}); }
  static Tensor ids(std::int64_t below, std::int64_t count) { return at::randint(0, below, {count}); }
  static Tensor indices(std::int64_t rows, std::int64_t columns) {
    return at::randint(0, columns, {rows, columns});
  }
  static Tensor cumsum(const Tensor& x, std::int64_t axis) { return at::cumsum(x, axis); }
  static auto sort(const Tensor& x, std::int64_t axis) { return at::sort(x, axis); }
  static auto topk(const Tensor& x, std::int64_t count) { return at::topk(x, count); }
  static Tensor gather(const Tensor& x, std::int64_t axis, const Tensor& index) {
    return at::gather(x, axis, index);
  }
  static Tensor index_put_(Tensor x, const Tensor& rows, const Tensor& values, bool accumulate) {
    return x.index_put_({rows}, values, accumulate);
  }
  static Tensor embedding(const Tensor& table, const Tensor& ids) { return at::embedding(table, ids); }
  static Tensor cat(const Tensor& a, const Tensor& b, std::int64_t axis) { return at::cat({a, b}, axis); }
};

}  // namespace

int main(int argc, char** argv) {
  const c10::InferenceMode inference;
  return bench::serve(argc, argv, bench::reductions_cases<Api>());
}
