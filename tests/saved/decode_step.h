// One token of a Llama as a function of tensors alone, so that it can be saved.
#pragma once

#include <vector>

#include "pellucid/pellucid.h"

namespace pel::test {

// Inputs: tokens, i64 [batch, 1]; how many tokens the caches hold, i64 [batch]; 0, 1, … for as many keys as
// are looked at; then keys and values of each layer, [batch, kv_heads, capacity, width], which are written
// to. Returns the logits [batch, vocabulary] of the next token.
inline auto decode_step(const nn::Llama& model) {
  return [&model](const std::vector<Tensor>& in) -> std::vector<Tensor> {
    const Tensor& lengths = in[1];
    Tensor x = model.embed(in[0]);
    const Tensor position = lengths.view({x.size(0), 1, 1}) + arange(x.size(1));
    const nn::Positions positions = model.layers[0].attention.positions_at(position, x, in[2]);
    for (std::size_t i = 0; i < model.layers.size(); ++i) {
      const nn::KVSlots slots{in[3 + 2 * i], in[4 + 2 * i]};
      x = model.layers[i](x, {.positions = &positions, .slots = &slots});
    }
    return {model.logits(x.select(1, -1))};
  };
}

}  // namespace pel::test
