// Losses over many classes, and norms over channels as in ResNet-50. On one thread and on two.
#include <pellucid/pellucid.h>

#include "cases.h"

namespace {

struct Api {
  using Tensor = pel::Tensor;
  static constexpr pel::DType kFloat = pel::kF32, kBfloat = pel::kBF16;
  static void set_threads(int count) { pel::set_thread_count(count); }
  static Tensor noise(std::initializer_list<std::int64_t> sizes, pel::DType dtype) {
    const std::vector<pel::Dim> dims(sizes.begin(), sizes.end());
    return pel::to_copy(pel::randn(dims), dtype);
  }
  static Tensor noise_f32_above_one(std::int64_t count) { return pel::add(pel::rand({count}), 1); }
  static Tensor ids(std::int64_t below, std::int64_t count) { return pel::randint(0, below, {count}); }
  static Tensor channels_last(const Tensor& x) {
    return x.permute({0, 2, 3, 1}).contiguous().permute({0, 3, 1, 2});
  }
  static Tensor cross_entropy(const Tensor& x, const Tensor& target, double label_smoothing) {
    return pel::cross_entropy(x, target, std::nullopt, pel::Reduction::Mean, -100, label_smoothing);
  }
  static Tensor batch_norm(const Tensor& x, const Tensor& vector, const Tensor& running, bool training) {
    return pel::batch_norm(x, vector, vector, running, running,
                           training ? pel::Training::Yes : pel::Training::No);
  }
  static Tensor group_norm(const Tensor& x, std::int64_t groups, const Tensor& vector) {
    return pel::group_norm(x, groups, vector, vector);
  }
};

}  // namespace

int main(int argc, char** argv) { return bench::serve(argc, argv, bench::losses_cases<Api>()); }
