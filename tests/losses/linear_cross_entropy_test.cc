// linear_cross_entropy in more than one block of rows and classes: bits, memory and errors. Smaller calls are
// compared with their parts in conformance/composition_test.cc.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pellucid/pellucid.h"

#include "support/bytes.h"
#include "support/errors.h"

namespace pel {
namespace {

using test::bytes_of;

Tensor drawn(Dims sizes, DType dtype, std::uint64_t seed) {
  Generator generator(seed);
  return randn(sizes, {}, generator).to(dtype);
}
Tensor drawn_targets(std::int64_t below, std::int64_t rows) {
  Generator generator(3);
  return randint(0, below, {rows}, {}, generator);
}

struct Step {
  Tensor loss, to_input, to_weight;
};
template <class F>
Step step_of(const F& loss_of, const Tensor& input, const Tensor& weight) {
  const Tensor x = input.detach().requires_grad_(), w = weight.detach().requires_grad_();
  const Tensor loss = loss_of(x, w);
  const std::vector<Tensor> gradients = grad({loss}, {x, w});
  return {loss.detach(), gradients[0], gradients[1]};
}

TEST(LinearCrossEntropy, BlocksHaveTheBitsOfTheParts) {
  for (const DType dtype : {kF32, kF64, kBF16, kF16}) {
    for (const auto& [rows, features, count] :
         {std::array<std::int64_t, 3>{2500, 24, 100}, {70, 20, 9000}, {1100, 3, 5000}, {1030, 33, 4099}}) {
      const Tensor input = drawn({rows, features}, dtype, 1), weight = drawn({count, features}, dtype, 2),
                   target = drawn_targets(count, rows);
      const auto one = [&](const Tensor& x, const Tensor& w) {
        return linear_cross_entropy(x, w, target, 7);
      };
      const auto parts = [&](const Tensor& x, const Tensor& w) {
        return cross_entropy(linear(x, w), target, std::nullopt, Reduction::Mean, 7);
      };
      const Step given = step_of(one, input, weight), wanted = step_of(parts, input, weight);
      SCOPED_TRACE(fmt::format("{} {}x{}x{}", name(dtype), rows, features, count));
      EXPECT_EQ(bytes_of(given.loss), bytes_of(wanted.loss));
      EXPECT_EQ(bytes_of(given.to_input), bytes_of(wanted.to_input));
      EXPECT_EQ(bytes_of(given.to_weight), bytes_of(wanted.to_weight));
    }
  }
}

TEST(LinearCrossEntropy, MemoryIsATenthOfTheParts) {
  constexpr std::int64_t kRows = 2048, kFeatures = 32, kClasses = 32'000;
  const Tensor input = drawn({kRows, kFeatures}, kF32, 1), weight = drawn({kClasses, kFeatures}, kF32, 2),
               target = drawn_targets(kClasses, kRows);
  const auto peak = [&](const auto& loss_of) {
    reset_peak_memory();
    const std::int64_t before = memory_stats().data_bytes;
    step_of(loss_of, input, weight);
    return static_cast<double>(memory_stats().peak_data_bytes - before);
  };
  const double parts =
      peak([&](const Tensor& x, const Tensor& w) { return cross_entropy(linear(x, w), target); });
  const double one =
      peak([&](const Tensor& x, const Tensor& w) { return linear_cross_entropy(x, w, target); });
  std::printf("%.1f MB instead of %.1f MB\n", one / 1e6, parts / 1e6);
  EXPECT_LT(one, 0.1 * parts);
}

TEST(LinearCrossEntropy, LeadingAxesAreRows) {
  const Tensor input = drawn({2, 3, 4}, kF32, 1), weight = drawn({5, 4}, kF32, 2),
               target = drawn_targets(5, 6);
  EXPECT_EQ(bytes_of(linear_cross_entropy(input, weight, target.view({2, 3}))),
            bytes_of(linear_cross_entropy(input.view({6, 4}), weight, target)));
}

TEST(LinearCrossEntropy, NoRowsHaveNaNAndNoGradient) {
  const Tensor weight = drawn({5, 4}, kF32, 2), target = zeros({0}, kI64);
  const Step step =
      step_of([&](const Tensor& x, const Tensor& w) { return linear_cross_entropy(x, w, target); },
              zeros({0, 4}), weight);
  EXPECT_NE(step.loss.item().to_double(), step.loss.item().to_double());
  EXPECT_EQ(sum(abs(step.to_weight)).item().to_double(), 0);
}

TEST(LinearCrossEntropy, ATargetOutOfRangeIsAnError) {
  const Tensor input = drawn({2, 4}, kF32, 1), weight = drawn({5, 4}, kF32, 2);
  const Tensor target = tensor({std::int64_t{1}, std::int64_t{5}});
  const std::string message = "target 5 of row 1 is not one of 5 classes";
  const auto thrown = [](const auto& f) { return test::thrown_by<IndexError>(f).message(); };
  EXPECT_NE(thrown([&] { linear_cross_entropy(input, weight, target); }).find(message), std::string::npos);
  EXPECT_NE(thrown([&] { softmax_cross_entropy(linear(input, weight), target); }).find(message),
            std::string::npos);
}

}  // namespace
}  // namespace pel
