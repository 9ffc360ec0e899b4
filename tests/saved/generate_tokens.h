// The likeliest continuation of a prompt by a decode step (decode_step.h), without ops: what a program that
// links the runtime library alone does.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "pellucid/tensor.h"

namespace pel::test {

struct CacheSizes {
  std::int64_t layers = 0, kv_heads = 0, width = 0, capacity = 0;
};

// `step` takes and returns lists of tensors.
template <class Step>
std::vector<std::int64_t> generate_tokens(const Step& step, const std::vector<std::int64_t>& prompt,
                                          std::size_t count, const CacheSizes& sizes) {
  const auto whole_numbers = [](std::vector<std::int64_t> numbers, std::vector<Dim> shape) {
    return from_data(numbers, Dims(shape));
  };
  constexpr std::int64_t kKeysPerPlan = 64;
  const std::vector<float> empty(static_cast<std::size_t>(sizes.kv_heads * sizes.capacity * sizes.width));
  std::vector<Tensor> inputs(3);
  for (std::int64_t i = 0; i < 2 * sizes.layers; ++i)
    inputs.push_back(from_data(empty, {1, sizes.kv_heads, sizes.capacity, sizes.width}));
  std::vector<std::int64_t> text = prompt;
  for (std::int64_t at = 0; text.size() < prompt.size() + count; ++at) {
    std::vector<std::int64_t> keys(static_cast<std::size_t>((at / kKeysPerPlan + 1) * kKeysPerPlan));
    for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<std::int64_t>(i);
    inputs[0] = whole_numbers({text[static_cast<std::size_t>(at)]}, {1, 1});
    inputs[1] = whole_numbers({at}, {1});
    inputs[2] = whole_numbers(keys, {keys.size()});
    const Tensor logits = step(inputs)[0];
    const auto* const values = logits.template data<const float>();
    const auto likeliest = std::max_element(values, values + logits.numel().value()) - values;
    if (static_cast<std::size_t>(at) + 1 >= prompt.size()) text.push_back(likeliest);
  }
  return {text.begin() + static_cast<std::ptrdiff_t>(prompt.size()), text.end()};
}

}  // namespace pel::test
