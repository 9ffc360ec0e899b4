// A step of training, compiled as one function: zero_grad, loss, backward, AdamW. A GPT-2 of 4
// layers of 256, 4 heads and a vocabulary of 8192, in f32, on 8 texts of 128 tokens.
#include <memory>
#include <vector>

#include <pellucid/pellucid.h>

#include "../support/lazy.h"
#include "../support/memory_peak.h"
#include "../support/server.h"

namespace {

using pel::Tensor;
constexpr std::int64_t kVocabulary = 8192, kLayers = 4, kHeads = 4, kWidth = 256, kBatch = 8, kTokens = 128;
constexpr int kSteps = 3;

class Training {
 public:
  Training()
      : model_({.vocabulary = kVocabulary,
                .context = kTokens,
                .layers = kLayers,
                .heads = kHeads,
                .width = kWidth}),
        optimizer_(model_, {.lr = 1e-3, .weight_decay = 0.01}) {}
  Tensor step() { return compiled_(text_, next_); }
  void forget_gradients() { optimizer_.zero_grad(); }

 private:
  Tensor plain(const Tensor& text, const Tensor& next) {
    optimizer_.zero_grad();
    const Tensor loss = pel::cross_entropy(model_(text).flatten(0, 1), next.flatten(0, 1));
    loss.backward();
    optimizer_.step();
    return loss.detach();
  }
  struct Step {
    Training* of;
    Tensor operator()(const Tensor& text, const Tensor& next) const { return of->plain(text, next); }
  };

  pel::nn::GPT model_;
  pel::optim::AdamW optimizer_;
  Tensor text_ = pel::randint(0, kVocabulary, {kBatch, kTokens});
  Tensor next_ = pel::randint(0, kVocabulary, {kBatch, kTokens});
  pel::Compiled<Step> compiled_ = pel::compile(Step{this});
};

// Activations and gradients: the memory of a step without parameters and the optimiser's state.
double step_bytes(Training& training) {
  pel::set_thread_count(2);
  for (int i = 0; i < kSteps; ++i) training.step();
  training.forget_gradients();
  pel::empty_cache();
  return bench::memory_peak([&] {
    for (int i = 0; i < kSteps; ++i) training.step();
  });
}

struct Api {
  static void set_threads(int count) { pel::set_thread_count(count); }
};

}  // namespace

int main(int argc, char** argv) {
  const bench::Lazy training([] { return std::make_shared<Training>(); });
  std::vector<bench::Case> cases;
  bench::add_by_threads<Api>(cases, "step_f32", [training] { return training()->step(); });
  cases.emplace_back("step_bytes", [training] { return training()->step(); });
  cases.back().measure = [training](std::int64_t) { return step_bytes(*training()); };
  return bench::serve(argc, argv, cases);
}
