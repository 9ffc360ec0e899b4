// Trains a small GPT on text, byte by byte, and generates a line.
//
//   example_train_gpt [--steps N] [--width N] [--layers N] [FILE…]
//
// Without files it reads this project's own README.
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>

#include <pellucid/pellucid.h>

#include "loss_plot.h"

using namespace pel;

namespace {

struct Settings {
  std::int64_t steps = 100, width = 128, layers = 2, batch = 8, tokens = 64;
  std::vector<std::string> files;
};

Settings parse(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    std::int64_t* number = word == "--steps"    ? &settings.steps
                           : word == "--width"  ? &settings.width
                           : word == "--layers" ? &settings.layers
                                                : nullptr;
    if (number && i + 1 < argc) {
      *number = std::stoll(argv[++i]);
    } else {
      settings.files.push_back(word);
    }
  }
  if (settings.files.empty()) settings.files = {PELLUCID_SOURCE_DIR "/README.md"};
  return settings;
}

Tensor read_bytes(const std::vector<std::string>& files) {
  std::vector<std::int64_t> bytes;
  for (const std::string& name : files) {
    std::ifstream file(name, std::ios::binary);
    if (!file) throw std::runtime_error(name + " cannot be read");
    for (std::istreambuf_iterator<char> at(file), end; at != end; ++at)
      bytes.push_back(static_cast<unsigned char>(*at));
  }
  return from_data(bytes, {static_cast<std::int64_t>(bytes.size())});
}

// Generates the likeliest next byte, one at a time; earlier bytes are in the caches.
std::string write_on(const nn::GPT& model, std::string text, int count) {
  const InferenceMode inference;
  nn::KVCaches caches = model.make_caches();
  std::vector<std::int64_t> fed(text.begin(), text.end());
  for (int i = 0; i < count; ++i) {
    const Tensor logits = model(from_data(fed, {1, static_cast<std::int64_t>(fed.size())}), &caches);
    fed = {argmax(logits.select(1, logits.size(1) - 1)).item().to_int()};
    text += static_cast<char>(fed[0]);
  }
  return text;
}

}  // namespace

int main(int argc, char** argv) try {
  const Settings settings = parse(argc, argv);
  const Tensor text = read_bytes(settings.files);
  manual_seed(1);
  nn::GPT model({.context = 256, .layers = settings.layers, .heads = 4, .width = settings.width});
  optim::AdamW optimizer(model, {.lr = 1e-3, .weight_decay = 0.01});
  const auto schedule = optim::warmup(10, optim::cosine(1e-3, settings.steps));
  std::printf("%lld parameters, %lld bytes of text\n", static_cast<long long>(model.parameter_count()),
              static_cast<long long>(text.numel().value()));

  std::vector<double> losses;
  const Tensor offsets = arange(settings.tokens + 1);
  for (std::int64_t step = 0; step < settings.steps; ++step) {
    const Tensor begins = randint(0, text.numel() - settings.tokens - 1, {settings.batch, 1});
    const Tensor batch = index(text, {begins + offsets});
    const Tensor logits = model(batch.narrow(1, 0, settings.tokens));
    const Tensor loss =
        cross_entropy(logits.flatten(0, 1), batch.narrow(1, 1, settings.tokens).reshape({-1}));
    optimizer.zero_grad();
    loss.backward();
    optim::clip_grad_norm_(model, 1);
    optimizer.set_lr(schedule(step));
    optimizer.step();
    losses.push_back(loss.item().to_double());
    show_progress(step + 1, settings.steps, losses.back());
  }
  plot(losses);
  model.eval();
  std::cout << write_on(model, "Pellucid ", 60) << "\n";
  return losses.back() < losses.front() ? 0 : 1;
} catch (const std::exception& error) {
  std::cerr << error.what() << "\n";
  return 2;
}
