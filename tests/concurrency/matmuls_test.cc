// Matmuls from several threads at once, while their matrices are packed and dropped from the cache.
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "pellucid/pellucid.h"

#include "support/bytes.h"

namespace pel {
namespace {

TEST(Matmuls, ManyThreadsMultiplyAndPack) {
  set_thread_count(2);
  for (const DType dtype : {kF32, kBF16}) {
    const Tensor x = to_copy(randn({80, 96}), dtype), weight = to_copy(randn({70, 96}), dtype);
    const Tensor few = x.slice(0, 0, 5);
    const std::vector<char> all = test::bytes_of(mm(x, weight.t())),
                            some = test::bytes_of(mm(few, weight.t()));
    set_packing_cache(1 << 20);
    {
      std::vector<std::jthread> threads;
      for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&, t] {
          for (int i = 0; i < 25; ++i) {
            const PackedMatrix packed = t % 2 == 0 ? pack(weight.t()) : PackedMatrix();
            EXPECT_EQ(test::bytes_of(mm(x, weight.t())), all);
            EXPECT_EQ(test::bytes_of(linear(few, weight)), some);
            if (i % 10 == 0) set_packing_cache(t == 0 ? 0 : 1 << 20);
          }
        });
      }
    }
    set_packing_cache(0);
  }
  set_thread_count(1);
}

}  // namespace
}  // namespace pel
