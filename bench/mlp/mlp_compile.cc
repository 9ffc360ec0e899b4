// A GeGLU MLP, compiled once for all numbers of rows.
#include <pellucid/pellucid.h>

#include "../support/lazy.h"
#include "../support/server.h"

int main(int argc, char** argv) {
  const pel::InferenceMode inference;
  constexpr std::int64_t kWidth = 768, kHidden = 3072;
  std::vector<bench::Case> cases;
  for (const pel::DType dtype : {pel::kF32, pel::kBF16}) {
    const auto noise = [dtype](std::int64_t rows, std::int64_t columns) {
      return pel::to_copy(pel::mul(pel::randn({rows, columns}), 0.05), dtype);
    };
    const bench::Lazy mlp([noise] {
      const pel::Tensor gate = noise(kHidden, kWidth), up = noise(kHidden, kWidth),
                        down = noise(kWidth, kHidden);
      return pel::compile([=](const pel::Tensor& x) {
        return pel::linear(
            pel::mul(pel::gelu(pel::linear(x, gate), pel::GeluApproximate::Tanh), pel::linear(x, up)), down);
      });
    });
    for (const std::int64_t rows : {1, 8, 64, 512, 8192}) {
      const bench::Lazy x([rows, noise] { return noise(rows, kWidth); });
      for (const int threads : {1, 2}) {
        const std::string name =
            std::to_string(rows) + "_" + std::string(pel::name(dtype)) + "_" + std::to_string(threads) + "t";
        cases.emplace_back(name, [mlp, x, threads] {
          pel::set_thread_count(threads);
          return mlp()(x());
        });
      }
    }
  }
  return bench::serve(argc, argv, cases);
}
