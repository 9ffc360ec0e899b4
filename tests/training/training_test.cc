// A GPT trained beside its twin in torch: the same weights, the same batches, the same losses. What torch
// found is in files that ./dev test writes where torch is installed.
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "pellucid/pellucid.h"

namespace pel {
namespace {

struct Twin {
  nn::GptConfig config;
  std::int64_t batch = 0, tokens = 0, steps = 0;
  double lr = 0;
  std::vector<nn::NamedTensor> weights;
  Tensor batches;  // [steps, batch, tokens + 1]
  std::vector<double> losses;
};

std::vector<char> read_all(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::optional<Twin> read_twin() {
  const char* path = std::getenv("PELLUCID_TRAINING");
  std::ifstream index(path ? std::string(path) + ".txt" : "");
  if (!index) return std::nullopt;
  const std::vector<char> numbers = read_all(std::string(path) + ".bin");
  Twin twin;
  for (std::string line; std::getline(index, line);) {
    std::istringstream words(line);
    std::string kind;
    words >> kind;
    if (kind == "config") {
      words >> twin.config.vocabulary >> twin.config.context >> twin.config.layers >> twin.config.heads >>
          twin.config.width >> twin.batch >> twin.tokens >> twin.steps >> twin.lr;
    } else if (kind == "param") {
      std::string name;
      std::size_t offset = 0;
      std::vector<Dim> sizes;
      words >> name >> offset;
      for (std::int64_t size; words >> size;) sizes.emplace_back(size);
      twin.weights.push_back({name, from_bytes(numbers.data() + offset, kF32, sizes)});
    } else if (kind == "batches") {
      std::size_t offset = 0;
      words >> offset;
      twin.batches = from_bytes(numbers.data() + offset, kI64, {twin.steps, twin.batch, twin.tokens + 1});
    } else {
      twin.losses.emplace_back();
      words >> twin.losses.back();
    }
  }
  return twin;
}

Tensor loss_of(const nn::Gpt& model, const Tensor& batch) {
  const std::int64_t tokens = batch.size(1).value() - 1;
  const Tensor logits = model(batch.narrow(1, 0, tokens));
  return cross_entropy(logits.flatten(0, 1), batch.narrow(1, 1, tokens).reshape({-1}));
}

std::vector<double> train(const Twin& twin, nn::Gpt& model, std::int64_t steps) {
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
  const std::optional<Twin> twin = read_twin();
  if (!twin) GTEST_SKIP() << "the twin's losses are missing: ./dev setup --peers, then ./dev test";
  nn::Gpt model(twin->config);
  const std::vector<double> losses = train(*twin, model, twin->steps);
  double worst = 0;
  for (std::size_t i = 0; i < 50; ++i) {
    worst = std::max(worst, std::abs(losses[i] - twin->losses[i]) / twin->losses[i]);
    ASSERT_NEAR(losses[i], twin->losses[i], 1e-4 * twin->losses[i]) << "step " << i;
  }
  EXPECT_NEAR(losses.back(), twin->losses.back(), 0.01 * twin->losses.back());
  EXPECT_LT(losses.back(), 0.7 * losses.front());
  std::printf("first 50 losses within %.2g; last %.5f, torch's %.5f; first %.5f\n", worst, losses.back(),
              twin->losses.back(), losses.front());
}

TEST(Training, GivesTheSameBitsOnOneThreadAndOnTwo) {
  const std::optional<Twin> twin = read_twin();
  if (!twin) GTEST_SKIP() << "the twin's weights are missing: ./dev setup --peers, then ./dev test";
  std::vector<std::vector<nn::NamedTensor>> ends;
  std::vector<std::vector<double>> losses;
  const int before = thread_count();
  for (const int threads : {1, 2}) {
    set_thread_count(threads);
    nn::Gpt model(twin->config);
    losses.push_back(train(*twin, model, 20));
    ends.push_back(model.named_parameters());
    for (nn::NamedTensor& each : ends.back()) each.tensor = each.tensor.detach().clone();
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
