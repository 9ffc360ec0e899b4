// The epilogue hook of the tiles produces the bits of the ops that it replaces.
#include <gtest/gtest.h>

#include "support/bytes.h"
#include "support/fused_mlp.h"

namespace pel {
namespace {

TEST(Hook, AFusedMlpHasTheBitsOfEager) {
  for (const DType dtype : {kF32, kBF16, kF16}) {
    for (const std::int64_t rows : {1, 7, 33, 130}) {
      Generator generator(11);
      const auto noise = [&](Dims sizes, double scale) {
        return to_copy(mul(randn(sizes, {}, generator), scale), dtype);
      };
      const Tensor x = noise({rows, 200}, 1), gate = noise({330, 200}, 0.1), up = noise({330, 200}, 0.1),
                   down = noise({200, 330}, 0.1);
      const std::vector<char> eager =
          test::bytes_of(linear(mul(gelu(linear(x, gate), GeluApproximate::Tanh), linear(x, up)), down));
      const test::FusedMlp fused(gate, up, down);
      for (const int threads : {1, 2}) {
        set_thread_count(threads);
        EXPECT_EQ(test::bytes_of(fused.in_three(x)), eager) << name(dtype) << " " << rows;
        EXPECT_EQ(test::bytes_of(fused.in_two(x)), eager) << name(dtype) << " " << rows;
      }
      set_thread_count(1);
    }
  }
}

}  // namespace
}  // namespace pel
