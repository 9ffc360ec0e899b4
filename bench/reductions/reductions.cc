// Reductions over rows of 768, 3072 and 32000 elements; scans, sorting and indexing. On one thread and on
// two.
#include <pellucid/pellucid.h>

#include "cases.h"

namespace {

struct Api {
  using Tensor = pel::Tensor;
  static constexpr pel::DType kFloat = pel::kF32, kBfloat = pel::kBF16;
  static void set_threads(int count) { pel::set_thread_count(count); }
  static Tensor ramp(std::int64_t rows, std::int64_t columns, pel::DType dtype) {
    return pel::to_copy(pel::linspace(-4, 4, rows * columns).view({rows, columns}), dtype);
  }
  static Tensor sum(const Tensor& x, std::int64_t axis) { return pel::sum(x, {axis}); }
  static Tensor amax(const Tensor& x, std::int64_t axis) { return pel::amax(x, {axis}); }
  static Tensor argmax(const Tensor& x, std::int64_t axis) { return pel::argmax(x, axis); }
  static Tensor softmax(const Tensor& x, std::int64_t axis) { return pel::softmax(x, axis); }
  static Tensor layer_norm(const Tensor& x, const Tensor& weight) {
    const pel::Tensor row = weight[{0}];
    return pel::layer_norm(x, row.sizes(), row, row);
  }
  static Tensor rms_norm(const Tensor& x, const Tensor& weight) {
    const pel::Tensor row = weight[{0}];
    return pel::rms_norm(x, row.sizes(), row, 1e-5);
  }
  static Tensor noise(std::int64_t rows, std::int64_t columns) { return pel::randn({rows, columns}); }
  static Tensor ids(std::int64_t below, std::int64_t count) { return pel::randint(0, below, {count}); }
  static Tensor indices(std::int64_t rows, std::int64_t columns) {
    return pel::randint(0, columns, {rows, columns});
  }
  static Tensor cumsum(const Tensor& x, std::int64_t axis) { return pel::cumsum(x, axis); }
  static auto sort(const Tensor& x, std::int64_t axis) { return pel::sort(x, axis); }
  static auto topk(const Tensor& x, std::int64_t count) { return pel::topk(x, count); }
  static Tensor gather(const Tensor& x, std::int64_t axis, const Tensor& index) {
    return pel::gather(x, axis, index);
  }
  static Tensor index_put_(const Tensor& x, const Tensor& rows, const Tensor& values, bool accumulate) {
    return pel::index_put_(x, {rows}, values, accumulate ? pel::Accumulate::Yes : pel::Accumulate::No);
  }
  static Tensor embedding(const Tensor& table, const Tensor& ids) { return pel::embedding(table, ids); }
  static Tensor cat(const Tensor& a, const Tensor& b, std::int64_t axis) { return pel::cat({a, b}, axis); }
};

}  // namespace

int main(int argc, char** argv) { return bench::serve(argc, argv, bench::reductions_cases<Api>()); }
