// Calls that are long enough that the kernel is what is timed.
#pragma once

#include <optional>
#include <vector>

#include <pellucid/pellucid.h>

#include "../support/server.h"

namespace bench {

inline std::vector<Case> opencl_cases(pel::Device device) {
  pel::manual_seed(1);
  const pel::Tensor matrix = pel::randn({2048, 768}).to(device), row = pel::randn({768}).to(device);
  const pel::Tensor left = pel::randn({512, 768}).to(device), right = pel::randn({768, 768}).to(device);
  // Of SmolLM2: a prompt, and a token after 512.
  const pel::Tensor queries = pel::randn({1, 9, 512, 64}).to(device),
                    keys = pel::randn({1, 3, 512, 64}).to(device);
  const pel::Tensor query = pel::randn({1, 9, 1, 64}).to(device);
  pel::AttentionOptions grouped;
  grouped.grouped = pel::GroupedHeads::Yes;
  pel::AttentionOptions causal = grouped;
  causal.causal = pel::Causal::Yes;
  const auto timed = [device](std::string_view name, auto call) {
    return Case(name, [=] {
      const pel::Tensor result = call();
      pel::synchronize(device);
      return result;
    });
  };
  return {
      timed("add", [=] { return pel::add(matrix, matrix); }),
      timed("add_row", [=] { return pel::add(matrix, row); }),
      timed("gelu", [=] { return pel::gelu(matrix); }),
      timed("softmax", [=] { return pel::softmax(matrix, -1); }),
      timed("sum", [=] { return pel::sum(matrix, {-1}); }),
      timed("transpose", [=] { return matrix.t().contiguous(); }),
      timed("matmul", [=] { return pel::matmul(left, right); }),
      timed("linear", [=] { return pel::linear(left, right, row); }),
      timed("attention",
            [=] { return pel::scaled_dot_product_attention(queries, keys, keys, std::nullopt, causal); }),
      timed("attention_token",
            [=] { return pel::scaled_dot_product_attention(query, keys, keys, std::nullopt, grouped); }),
  };
}

}  // namespace bench
