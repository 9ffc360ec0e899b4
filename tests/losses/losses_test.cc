// Properties of losses and norms that parity with torch does not cover: error texts, layouts, launched
// kernels, and equal bits for any number of threads.
#include <cmath>
#include <functional>
#include <limits>

#include <gtest/gtest.h>

#include "pellucid/pellucid.h"

#include "support/bytes.h"
#include "support/errors.h"

namespace pel {
namespace {

Tensor noise(Dims sizes, DType dtype = kF32) {
  Generator generator(5);
  return randn(sizes, dtype, generator);
}
Tensor classes(std::int64_t below, Dims sizes) {
  Generator generator(6);
  return randint(0, below, sizes, {}, generator);
}
Tensor channels_last(const Tensor& x) { return x.permute({0, 2, 3, 1}).contiguous().permute({0, 3, 1, 2}); }

TEST(Losses, AMeanOfNothingIsNaN) {
  const Tensor none = zeros({0, 3}), targets = zeros({0}, kI64);
  EXPECT_TRUE(std::isnan(cross_entropy(none, targets).item().to_double()));
  EXPECT_TRUE(std::isnan(nll_loss(none, targets).item().to_double()));
  EXPECT_TRUE(std::isnan(mse_loss(none, none).item().to_double()));
  const Tensor ignored = full({4}, -100, kI64);
  EXPECT_TRUE(std::isnan(cross_entropy(noise({4, 3}), ignored).item().to_double()));
  EXPECT_EQ(cross_entropy(noise({4, 3}), ignored, std::nullopt, Reduction::Sum).item().to_double(), 0);
}

TEST(Losses, NoSoftmaxIsStored) {
  const Tensor logits = noise({8, 50000}), targets = classes(50000, {8});
  reset_peak_memory();
  const std::int64_t before = memory_stats().data_bytes;
  cross_entropy(logits, targets);
  EXPECT_LT(memory_stats().peak_data_bytes - before, 4096);
}

TEST(Losses, LargeLogitsLoseNoDigits) {
  const Tensor logits = tensor({{1.0f, 2.0f, 0.5f}});
  const Tensor target = tensor({std::int64_t{1}});
  const double near_zero = cross_entropy(logits, target).item().to_double();
  EXPECT_EQ(cross_entropy(add(logits, 65536), target).item().to_double(), near_zero);
}

TEST(Losses, InfiniteLogitsHaveDefinedResults) {
  const float infinity = std::numeric_limits<float>::infinity(),
              nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor target = tensor({std::int64_t{0}});
  // A class with logit -inf contributes nothing; the others share the probability.
  EXPECT_FLOAT_EQ(
      static_cast<float>(cross_entropy(tensor({{0.0f, 0.0f, -infinity}}), target).item().to_double()),
      std::log(2.0f));
  EXPECT_TRUE(std::isinf(cross_entropy(tensor({{-infinity, 0.0f}}), target).item().to_double()));
  EXPECT_TRUE(std::isnan(cross_entropy(tensor({{0.0f, nan}}), target).item().to_double()));
  EXPECT_TRUE(std::isnan(cross_entropy(tensor({{0.0f, infinity}}), target).item().to_double()));
}

template <class E, class F>
void expect_error(F&& call, const std::string& words) {
  const std::string what = test::thrown_by<E>(call).what();
  EXPECT_NE(what.find(words), std::string::npos) << what;
}

TEST(Losses, ErrorsNameTheRuleAndTheValues) {
  const Tensor x = noise({4, 3}), targets = classes(3, {4});
  expect_error<ValueError>(
      [&] { call_boxed(*find_op("cross_entropy"), {x, targets, Value(), std::string("average")}); },
      "reduction is \"none\", \"mean\", \"sum\" or \"batchmean\", not \"average\"");
  for (const auto& call : std::vector<std::function<void()>>{
           [&] { mse_loss(x, x, Reduction::BatchMean); },
           [&] { cross_entropy(x, targets, std::nullopt, Reduction::BatchMean); },
           [&] { nll_loss(x, targets, std::nullopt, Reduction::BatchMean); },
           [&] { cosine_embedding_loss(x, x, ones({4}), 0, Reduction::BatchMean); }})
    expect_error<ValueError>(call, "the reduction \"batchmean\" belongs to kl_div");
  expect_error<ShapeError>(
      [&] { cross_entropy(x, classes(3, {5})); },
      "targets must have the sizes of f32[4, 3] without axis 1, the classes, not i64[5]");
  expect_error<IndexError>([&] { cross_entropy(x, full({4}, 3, kI64)); }, "index 3");
  expect_error<ValueError>([&] { cross_entropy(x, targets, std::nullopt, Reduction::Mean, -100, 2); },
                           "label_smoothing is 2, and must be between 0 and 1");
  expect_error<DTypeError>([&] { mse_loss(targets, targets); }, "i64[4] is not: convert it");
  expect_error<ValueError>([&] { batch_norm(x, {}, {}, {}, {}, Training::No); },
                           "outside training the running mean and variance are needed");
  expect_error<ShapeError>([&] { group_norm(noise({2, 6, 4}), 4); },
                           "6 channels do not make 4 groups of one size");
}

TEST(Norms, BatchNormPreservesTheLayoutAndItsBits) {
  for (const DType dtype : {kF32, kBF16}) {
    const Tensor x = noise({3, 24, 9, 10}, dtype), weight = noise({24}), bias = noise({24});
    const Tensor last = channels_last(x);
    const auto run = [&](const Tensor& input, Training training) {
      const Tensor mean = ones({24}), var = ones({24});
      return batch_norm(input, weight, bias, mean, var, training);
    };
    for (const Training training : {Training::No, Training::Yes}) {
      const Tensor dense = run(x, training), other = run(last, training);
      EXPECT_EQ(to_string(other.strides()), to_string(last.strides()));
      EXPECT_EQ(test::bytes_of(dense), test::bytes_of(other.contiguous()));
    }
  }
}

TEST(Norms, TrainingUpdatesTheRunningStatistics) {
  const Tensor x = tensor({{1.0f}, {2.0f}, {6.0f}});
  const Tensor mean = zeros({1}), var = ones({1});
  batch_norm(x, std::nullopt, std::nullopt, mean, var, Training::Yes, 0.5);
  EXPECT_FLOAT_EQ(static_cast<float>(mean.item().to_double()), 1.5f);
  EXPECT_FLOAT_EQ(static_cast<float>(var.item().to_double()), 4.0f);  // half of 1 and half of 7
}

TEST(Losses, AnyNumberOfThreadsProducesTheSameBits) {
  const Tensor x = noise({40, 3000}), image = noise({4, 32, 40, 40}), last = channels_last(image);
  const Tensor weight = noise({32}), targets = classes(3000, {40});
  const Tensor probabilities = softmax(x, 1);
  const std::function<Tensor()> calls[] = {
      [&] { return cross_entropy(x, targets); },
      [&] { return cross_entropy(to(x, kBF16), targets, std::nullopt, Reduction::None, -100, 0.1); },
      [&] { return cross_entropy(x, probabilities, std::nullopt, Reduction::Sum); },
      [&] { return mse_loss(x, probabilities); },
      [&] { return kl_div(x, probabilities, Reduction::BatchMean); },
      [&] { return batch_norm(image, weight, weight, {}, {}, Training::Yes); },
      [&] { return batch_norm(last, weight, weight, {}, {}, Training::Yes); },
      [&] { return batch_norm(image, weight, weight, weight, abs(weight), Training::No); },
      [&] { return group_norm(image, 8, weight, weight); },
      [&] { return instance_norm(image, weight, weight); },
  };
  const int before = thread_count();
  for (const auto& call : calls) {
    set_thread_count(1);
    const std::vector<char> one = test::bytes_of(call());
    set_thread_count(3);
    EXPECT_EQ(one, test::bytes_of(call())) << "call " << &call - calls;
  }
  set_thread_count(before);
}

}  // namespace
}  // namespace pel
