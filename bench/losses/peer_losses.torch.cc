// The same calls as losses.cc in libtorch: inference mode.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>

#include "cases.h"

namespace {

struct Api {
  using Tensor = at::Tensor;
  static constexpr at::ScalarType kFloat = at::kFloat, kBfloat = at::kBFloat16;
  static void set_threads(int count) { at::set_num_threads(count); }
  static Tensor noise(std::initializer_list<std::int64_t> sizes, at::ScalarType dtype) {
    return at::randn(at::IntArrayRef(sizes.begin(), sizes.size())).to(dtype);
  }
  static Tensor noise_f32_above_one(std::int64_t count) { return at::rand({count}) + 1; }
  static Tensor ids(std::int64_t below, std::int64_t count) { return at::randint(0, below, {count}); }
  static Tensor channels_last(const Tensor& x) { return x.contiguous(at::MemoryFormat::ChannelsLast); }
  static Tensor cross_entropy(const Tensor& x, const Tensor& target, double label_smoothing) {
    return at::cross_entropy_loss(x, target, {}, at::Reduction::Mean, -100, label_smoothing);
  }
  static Tensor batch_norm(const Tensor& x, const Tensor& vector, const Tensor& running, bool training) {
    return at::batch_norm(x, vector, vector, running, running, training, 0.1, 1e-5, false);
  }
  static Tensor group_norm(const Tensor& x, std::int64_t groups, const Tensor& vector) {
    return at::group_norm(x, groups, vector, vector);
  }
};

}  // namespace

int main(int argc, char** argv) {
  const c10::InferenceMode inference;
  return bench::serve(argc, argv, bench::losses_cases<Api>());
}
