// A layer of a Llama of SmolLM2's sizes, compiled: its graph, and why each kernel is as it is.
#include <iostream>

#include <pellucid/pellucid.h>

using namespace pel;

int main() {
  manual_seed(0);
  const NoGrad no_grad;
  const nn::Llama llama(
      {.vocabulary = 1024, .layers = 1, .heads = 9, .kv_heads = 3, .width = 576, .hidden = 1536});
  const auto fast = compile([&](const Tensor& tokens) { return llama(tokens); });

  const Tensor tokens = randint(0, 1024, {2, 64});
  fast(tokens);
  std::cout << fast.graph() << '\n' << fast.explain(tokens);
}
