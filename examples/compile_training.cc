// A whole training step compiled: gradients, clipping and the optimiser are part of the graph.
#include <cstring>
#include <iostream>

#include <pellucid/pellucid.h>

using namespace pel;

int main() {
  manual_seed(0);
  const nn::GPTConfig config{.vocabulary = 64, .context = 32, .layers = 2, .heads = 4, .width = 32};
  nn::GPT model(config), same(config);
  same.load(model.named_parameters());
  optim::AdamW optimizer(model), plain(same);

  const auto train = [](nn::GPT& gpt, optim::Optimizer& adam, const Tensor& x, const Tensor& y) {
    adam.zero_grad();
    const Tensor loss = cross_entropy(gpt(x).flatten(0, 1), y.reshape({-1}));
    loss.backward();
    optim::clip_grad_norm_(gpt, 1.0);
    adam.step();
    return loss;
  };
  const auto step = compile([&](const Tensor& x, const Tensor& y) { return train(model, optimizer, x, y); });

  for (const int length : {8, 17, 32}) {
    const Tensor x = randint(0, 64, {4, length}), y = randint(0, 64, {4, length});
    const Tensor actual = step(x, y), expected = train(same, plain, x, y);
    const bool agree = std::memcmp(expected.raw_data(), actual.raw_data(), sizeof(float)) == 0;
    std::cout << "loss " << actual.item().to_double() << (agree ? ", the bits are" : ", the bits are not")
              << " the same\n";
    optimizer.set_lr(5e-4), plain.set_lr(5e-4);
  }
  std::cout << step.compiles() << " compile\n";
}
