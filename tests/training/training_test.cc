// A GPT trained alongside its twin in torch: the same weights, the same batches, the same losses. What torch
// found is in files that ./dev test writes where torch is installed.
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "pellucid/pellucid.h"

#include "support/answers.h"

namespace pel {
namespace {

struct Twin {
  Twin() : Twin(io::SafetensorsFile(test::answer_file("gpt.safetensors"))) {}
  explicit Twin(const io::SafetensorsFile& file) : batches(file.tensor("batches")), lr(number(file, "lr")) {
    const auto size = [&](const char* name) { return static_cast<std::int64_t>(number(file, name)); };
    config = {.vocabulary = size("vocabulary"),
              .context = size("context"),
              .layers = size("layers"),
              .heads = size("heads"),
              .width = size("width")};
    constexpr std::string_view kWeight = "weight.";
    for (NamedTensor& each : file.all()) {
      if (each.path.starts_with(kWeight)) weights.push_back({each.path.substr(kWeight.size()), each.tensor});
    }
    const auto* first = file.tensor("losses").data<const double>();
    losses.assign(first, first + batches.size(0).value());
  }
  static double number(const io::SafetensorsFile& file, const char* name) {
    return std::stod(file.metadata().at(name));
  }
  static bool is_there() { return test::has_answers("gpt.safetensors"); }
  std::int64_t steps() const { return batches.size(0).value(); }

  nn::GPTConfig config;
  std::vector<NamedTensor> weights;
  Tensor batches;  // [steps, batch, tokens + 1]
  std::vector<double> losses;
  double lr;
};

Tensor loss_of(const nn::GPT& model, const Tensor& batch) {
  const std::int64_t tokens = batch.size(1).value() - 1;
  const Tensor logits = model(batch.narrow(1, 0, tokens));
  return cross_entropy(logits.flatten(0, 1), batch.narrow(1, 1, tokens).reshape({-1}));
}

std::vector<double> train(const Twin& twin, nn::GPT& model, std::int64_t steps) {
  model.load(twin.weights);
  optim::AdamW optimizer(model, {.lr = twin.lr, .weight_decay = 0.01});
  std::vector<double> losses;
  for (std::int64_t step = 0; step < steps; ++step) {
    const Tensor loss = loss_of(model, twin.batches.select(0, step));
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    losses.push_back(loss.item().to_double());
  }
  return losses;
}

TEST(Training, LosesWhatItsTwinInTorchLoses) {
  if (!Twin::is_there()) GTEST_SKIP() << test::kNoAnswers;
  const Twin twin;
  nn::GPT model(twin.config);
  const std::vector<double> losses = train(twin, model, twin.steps());
  double worst = 0;
  for (std::size_t i = 0; i < 50; ++i) {
    worst = std::max(worst, std::abs(losses[i] - twin.losses[i]) / twin.losses[i]);
    ASSERT_NEAR(losses[i], twin.losses[i], 1e-4 * twin.losses[i]) << "step " << i;
  }
  EXPECT_NEAR(losses.back(), twin.losses.back(), 0.01 * twin.losses.back());
  EXPECT_LT(losses.back(), 0.7 * losses.front());
  std::printf("first 50 losses within %.2g; last %.5f, torch's %.5f; first %.5f\n", worst, losses.back(),
              twin.losses.back(), losses.front());
}

TEST(Training, GivesTheSameBitsOnOneThreadAndOnTwo) {
  if (!Twin::is_there()) GTEST_SKIP() << test::kNoAnswers;
  const Twin twin;
  std::vector<std::vector<NamedTensor>> ends;
  std::vector<std::vector<double>> losses;
  const int before = thread_count();
  for (const int threads : {1, 2}) {
    set_thread_count(threads);
    nn::GPT model(twin.config);
    losses.push_back(train(twin, model, 20));
    ends.push_back(model.named_parameters());
    for (NamedTensor& each : ends.back()) each.tensor = each.tensor.detach().clone();
  }
  set_thread_count(before);
  EXPECT_EQ(losses[0], losses[1]);
  for (std::size_t i = 0; i < ends[0].size(); ++i) {
    const auto bytes = static_cast<std::size_t>(ends[0][i].tensor.numel().value()) * 4;
    EXPECT_EQ(std::memcmp(ends[0][i].tensor.raw_data(), ends[1][i].tensor.raw_data(), bytes), 0)
        << ends[0][i].path;
  }
}

}  // namespace
}  // namespace pel
