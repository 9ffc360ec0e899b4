// Attention, convolution, pooling and losses from several threads at once, each shared out among workers.
#include <functional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "pellucid/pellucid.h"

#include "support/bytes.h"

namespace pel {
namespace {

TEST(Kernels, ManyThreadsComputeTheSameBits) {
  set_thread_count(2);
  for (const DType dtype : {kF32, kBF16}) {
    const Tensor heads = to_copy(randn({1, 4, 130, 64}), dtype), one = heads.slice(2, 0, 1);
    const Tensor image = to_copy(randn({2, 8, 20, 20}), dtype), weight = to_copy(randn({16, 8, 3, 3}), dtype);
    const Tensor logits = to_copy(randn({40, 3000}), dtype), classes = randint(0, 3000, {40});
    const std::vector<std::function<Tensor()>> calls = {
        [&] { return scaled_dot_product_attention(heads, heads, heads); },
        [&] { return scaled_dot_product_attention(one, heads, heads); },
        [&] { return conv2d(image, weight); },
        [&] { return max_pool2d(image, {2}); },
        [&] { return cross_entropy(logits, classes); },
    };
    std::vector<std::vector<char>> wanted;
    for (const auto& call : calls) wanted.push_back(test::bytes_of(call().contiguous()));
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 5; ++i) {
          for (std::size_t c = 0; c < calls.size(); ++c)
            EXPECT_EQ(test::bytes_of(calls[c]().contiguous()), wanted[c]) << "call " << c;
        }
      });
    }
  }
  set_thread_count(1);
}

}  // namespace
}  // namespace pel
