// A GeGLU MLP with the epilogue hook of the tiles, in three kernels and in two.
#include "../../tests/support/fused_mlp.h"
#include "../support/lazy.h"
#include "../support/server.h"

int main(int argc, char** argv) {
  using pel::Tensor;
  constexpr std::int64_t kWidth = 768, kHidden = 3072;
  std::vector<bench::Case> cases;
  for (const pel::DType dtype : {pel::kF32, pel::kBF16}) {
    const auto noise = [dtype](std::int64_t rows, std::int64_t columns) {
      return pel::to_copy(pel::mul(pel::randn({rows, columns}), 0.05), dtype);
    };
    const bench::Lazy mlp([noise] {
      return std::make_shared<pel::test::FusedMlp>(noise(kHidden, kWidth), noise(kHidden, kWidth),
                                                   noise(kWidth, kHidden));
    });
    for (const std::int64_t rows : {8192, 512}) {
      const bench::Lazy x([rows, noise] { return noise(rows, kWidth); });
      for (const int threads : {1, 2}) {
        const std::string name =
            std::to_string(rows) + "_" + std::string(pel::name(dtype)) + "_" + std::to_string(threads) + "t";
        cases.emplace_back(name + "_three", [mlp, x, threads] {
          pel::set_thread_count(threads);
          return mlp()->in_three(x());
        });
        cases.emplace_back(name + "_two", [mlp, x, threads] {
          pel::set_thread_count(threads);
          return mlp()->in_two(x());
        });
      }
    }
  }
  return bench::serve(argc, argv, cases);
}
