// Random ops: reproducible for any threads and layout, and with the right distribution.
#include "pellucid/ops/random.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "pellucid/ops.h"
#include "pellucid/ops/internal.h"
#include "pellucid/threads.h"

#include "base/philox.h"
#include "support/bytes.h"
#include "support/errors.h"

namespace pel {
namespace {

using test::bytes_of;
using test::thrown_by;

std::vector<double> values_of(const Tensor& t) {
  const Tensor wide = t.to(kF64).clone(Layout::RowMajor);
  const auto* begin = wide.data<const double>();
  return {begin, begin + wide.numel().value()};
}

// The test vectors of the Random123 library.
TEST(Philox, ProducesTheWordsOfItsPaper) {
  EXPECT_EQ(philox({0, 0}, 0),
            (std::array<std::uint32_t, 4>{0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u}));
  const std::uint64_t all = ~std::uint64_t{0};
  EXPECT_EQ(philox({all, all}, all),
            (std::array<std::uint32_t, 4>{0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu}));
  EXPECT_EQ(philox({0x299f31d0a4093822u, 0x0370734413198a2eu}, 0x85a308d3243f6a88u),
            (std::array<std::uint32_t, 4>{0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u}));
}

TEST(Generator, TheSameSeedProducesTheSameNumbers) {
  Generator a(5), b(5), c(6);
  const Tensor x = randn({1000}, {}, a);
  EXPECT_EQ(bytes_of(x), bytes_of(randn({1000}, {}, b)));
  EXPECT_NE(bytes_of(x), bytes_of(randn({1000}, {}, c)));
  EXPECT_NE(bytes_of(x), bytes_of(randn({1000}, {}, a))) << "a second call";
}

TEST(Generator, ARestoredStateContinuesTheStream) {
  Generator a(5);
  rand({10}, {}, a);
  const Generator::State saved = a.state();
  EXPECT_EQ(saved, (Generator::State{5, 1}));
  const Tensor next = rand({10}, {}, a);
  a.set_state(saved);
  EXPECT_EQ(bytes_of(rand({10}, {}, a)), bytes_of(next));
  Generator copy(saved);
  EXPECT_EQ(bytes_of(rand({10}, {}, copy)), bytes_of(next));
}

TEST(Generator, ForksDifferFromEachOtherAndCanBeRepeated) {
  Generator a(5), again(5);
  Generator first = a.fork(), second = a.fork();
  EXPECT_EQ(first.state(), again.fork().state());
  const Tensor x = rand({100}, {}, first), y = rand({100}, {}, second), z = rand({100}, {}, a);
  EXPECT_NE(bytes_of(x), bytes_of(y));
  EXPECT_NE(bytes_of(x), bytes_of(z));
  EXPECT_NE(bytes_of(y), bytes_of(z));
}

TEST(Generator, TheProcessHasOneOfItsOwn) {
  const Generator::State before = default_generator().state();
  manual_seed(3);
  const Tensor x = rand({8});
  EXPECT_EQ(default_generator().state(), (Generator::State{3, 1}));
  manual_seed(3);
  EXPECT_EQ(bytes_of(rand({8})), bytes_of(x));
  Generator other(3);
  EXPECT_EQ(bytes_of(rand({8}, {}, other)), bytes_of(x));
  default_generator().set_state(before);
}

struct RandomOp {
  const char* name;
  std::function<Tensor(const Tensor& like, Generator& generator)> run;
};

// Each fills, or reads, a tensor with the sizes and the layout of `like`.
std::vector<RandomOp> random_ops() {
  return {
      {"rand_like", [](const Tensor& x, Generator& g) { return rand_like(x, {}, g); }},
      {"randn_like", [](const Tensor& x, Generator& g) { return randn_like(x, {}, g); }},
      {"uniform_", [](const Tensor& x, Generator& g) { return uniform_(x, -2, 3, g); }},
      {"normal_", [](const Tensor& x, Generator& g) { return normal_(x, 1, 2, g); }},
      {"exponential_", [](const Tensor& x, Generator& g) { return exponential_(x, 2, g); }},
      {"bernoulli_", [](const Tensor& x, Generator& g) { return bernoulli_(x, 0.3, g); }},
      {"bernoulli", [](const Tensor& x, Generator& g) { return bernoulli(x.fill_(0.7), g); }},
      {"normal",
       [](const Tensor& x, Generator& g) { return normal(x.fill_(0.5), full({}, 2.0, x.dtype()), g); }},
      {"dropout",
       [](const Tensor& x, Generator& g) { return dropout(x.fill_(1.5), 0.25, Training::Yes, g); }},
      {"mask",
       [](const Tensor& x, Generator& g) {
         return std::get<1>(internal::native_dropout(x.fill_(1), 0.25, Training::Yes, g)).to(x.dtype());
       }},
      {"rand", [](const Tensor& x, Generator& g) { return rand(x.sizes(), x.dtype(), g); }},
      {"randn", [](const Tensor& x, Generator& g) { return randn(x.sizes(), x.dtype(), g); }},
      {"randint", [](const Tensor& x, Generator& g) { return randint(-5, 100, x.sizes(), x.dtype(), g); }},
      {"multinomial",
       [](const Tensor& x, Generator& g) { return multinomial(x.fill_(0.5), 200, Replacement::Yes, g); }},
      {"multinomial once",
       [](const Tensor& x, Generator& g) { return multinomial(x.fill_(0.5), 200, Replacement::No, g); }},
      {"randperm", [](const Tensor& x, Generator& g) { return randperm(x.size(1), kI64, g); }},
  };
}

TEST(Random, ThreadsAndLayoutsProduceTheSameBits) {
  const int threads_before = thread_count();
  const std::int64_t rows = 67, columns = 1021;
  for (const RandomOp& op : random_ops()) {
    for (const DType dtype : {kF32, kF64, kF16, kBF16}) {
      std::vector<char> expected;
      for (const int threads : {1, 3}) {
        set_thread_count(threads);
        const Tensor layouts[] = {empty({rows, columns}, dtype), empty({columns, rows}, dtype).t(),
                                  empty({rows, 2 * columns + 1}, dtype).slice(1, 1, 2 * columns + 1, 2)};
        for (const Tensor& layout : layouts) {
          Generator generator(11);
          const std::vector<char> actual = bytes_of(op.run(layout, generator));
          if (expected.empty()) expected = actual;
          EXPECT_EQ(actual == expected, true) << op.name << " " << name(dtype) << " strides "
                                              << to_string(layout.strides()) << " threads " << threads;
        }
      }
    }
  }
  set_thread_count(threads_before);
}

// The values are functions of the index: a longer result begins with the shorter one.
TEST(Random, TheSizeDoesNotChangeAnElement) {
  for (const DType dtype : {kF32, kF64}) {
    Generator a(2), b(2);
    const std::vector<double> longer = values_of(randn({5000}, dtype, a)),
                              shorter = values_of(randn({1013}, dtype, b));
    EXPECT_TRUE(std::equal(shorter.begin(), shorter.end(), longer.begin())) << name(dtype);
  }
}

constexpr std::int64_t kCount = 200'000;

// Returns the largest distance between the distribution of `values` and `cdf` (Kolmogorov-Smirnov);
// 1.95 / sqrt(n) is exceeded once in 1000.
double distance(std::vector<double> values, const std::function<double(double)>& cdf) {
  std::sort(values.begin(), values.end());
  const auto n = static_cast<double>(values.size());
  double max_distance = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double p = cdf(values[i]), at = static_cast<double>(i);
    max_distance = std::max({max_distance, std::abs(p - at / n), std::abs(p - (at + 1) / n)});
  }
  return max_distance * std::sqrt(n);
}

struct Moments {
  double mean = 0, variance = 0;
};
Moments moments_of(const std::vector<double>& values) {
  Moments m;
  for (const double x : values) m.mean += x;
  m.mean /= static_cast<double>(values.size());
  for (const double x : values) m.variance += (x - m.mean) * (x - m.mean);
  m.variance /= static_cast<double>(values.size());
  return m;
}

TEST(Random, DistributionsAreRight) {
  const auto uniform = [](double x) { return std::clamp(x, 0.0, 1.0); };
  const auto normal_cdf = [](double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); };
  const auto exponential = [](double x) { return 1 - std::exp(-2 * x); };
  for (const DType dtype : {kF32, kF64}) {
    Generator g(17);
    const std::vector<double> u = values_of(rand({kCount}, dtype, g)),
                              z = values_of(randn({kCount}, dtype, g)),
                              e = values_of(exponential_(empty({kCount}, dtype), 2, g));
    EXPECT_LT(distance(u, uniform), 1.95) << name(dtype);
    EXPECT_LT(distance(z, normal_cdf), 1.95) << name(dtype);
    EXPECT_LT(distance(e, exponential), 1.95) << name(dtype);
    EXPECT_GE(*std::min_element(u.begin(), u.end()), 0);
    EXPECT_LT(*std::max_element(u.begin(), u.end()), 1);
    EXPECT_GT(*std::min_element(e.begin(), e.end()), 0);
    EXPECT_GT(*std::max_element(z.begin(), z.end()), 4);  // the tails exist
    EXPECT_LT(*std::min_element(z.begin(), z.end()), -4);
    double together = 0;  // adjacent values, which share a radius, are independent
    for (std::size_t i = 0; i < z.size(); i += 2) together += z[i] * z[i + 1];
    EXPECT_NEAR(together / static_cast<double>(z.size() / 2), 0, 0.012);
  }
  for (const DType dtype : {kF16, kBF16}) {
    Generator g(18);
    const Moments u = moments_of(values_of(rand({kCount}, dtype, g)));
    const Moments z = moments_of(values_of(randn({kCount}, dtype, g)));
    EXPECT_NEAR(u.mean, 0.5, 0.004) << name(dtype);
    EXPECT_NEAR(u.variance, 1 / 12.0, 0.001) << name(dtype);
    EXPECT_NEAR(z.mean, 0, 0.01) << name(dtype);
    EXPECT_NEAR(z.variance, 1, 0.015) << name(dtype);
  }
}

TEST(Random, ParametersMoveTheDistribution) {
  Generator g(19);
  const Moments n = moments_of(values_of(normal(3, 0.5, {kCount}, {}, g)));
  EXPECT_NEAR(n.mean, 3, 0.006);
  EXPECT_NEAR(n.variance, 0.25, 0.004);
  const Moments u = moments_of(values_of(uniform_(empty({kCount}), -1, 5, g)));
  EXPECT_NEAR(u.mean, 2, 0.02);
  EXPECT_NEAR(u.variance, 3, 0.03);
  const std::vector<double> rows = values_of(normal(tensor({{0.0}, {100.0}}), full({kCount / 2}, 2.0), g));
  const Moments second = moments_of({rows.begin() + kCount / 2, rows.end()});
  EXPECT_NEAR(second.mean, 100, 0.03);
  EXPECT_NEAR(second.variance, 4, 0.08);
}

TEST(Random, BernoulliAndDropoutMatchTheirProbability) {
  Generator g(20);
  EXPECT_NEAR(moments_of(values_of(bernoulli_(empty({kCount}, kBool), 0.3, g))).mean, 0.3, 0.005);
  EXPECT_NEAR(moments_of(values_of(bernoulli(full({kCount}, 0.9), g))).mean, 0.9, 0.004);
  const Tensor p = tensor({0.0, 1.0}).expand({500, 2});
  EXPECT_EQ(bytes_of(bernoulli(p, g)), bytes_of(p)) << "never and always";
  const auto [result, mask] = internal::native_dropout(full({kCount}, 3.0), 0.25, Training::Yes, g);
  const std::vector<double> values = values_of(result), mask_values = values_of(mask);
  EXPECT_NEAR(moments_of(mask_values).mean, 0.75, 0.005);
  for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], mask_values[i] != 0 ? 4.0 : 0.0);
  const Tensor x = ones({4});
  EXPECT_TRUE(dropout(x, 0.5, Training::No).is_same(x));
  EXPECT_EQ(bytes_of(dropout(x, 1)), bytes_of(zeros({4})));
  EXPECT_EQ(bytes_of(std::get<0>(internal::native_dropout(x, 0.5, Training::No))), bytes_of(x));
}

TEST(Random, IntegersAreUniform) {
  Generator g(21);
  std::array<int, 7> counts{};
  for (const double x : values_of(randint(-3, 4, {70'000}, kI8, g)))
    ++counts.at(static_cast<std::size_t>(x + 3));
  for (const int count : counts) EXPECT_NEAR(count, 10'000, 400);
  const std::vector<double> wide = values_of(randint(INT64_MIN, INT64_MAX, {kCount}, {}, g));
  EXPECT_LT(distance(wide, [](double x) { return x * 0x1p-64 + 0.5; }), 1.95);
}

TEST(Random, PermutationsContainEachNumberOnceAndReachEveryOrder) {
  Generator g(22);
  std::vector<double> order = values_of(randperm(1000, {}, g));
  EXPECT_FALSE(std::is_sorted(order.begin(), order.end()));
  std::sort(order.begin(), order.end());
  for (std::size_t i = 0; i < order.size(); ++i) ASSERT_EQ(order[i], static_cast<double>(i));
  std::map<std::vector<double>, int> counts;
  for (int i = 0; i < 6000; ++i) ++counts[values_of(randperm(3, kF32, g))];
  EXPECT_EQ(counts.size(), 6u);
  for (const auto& [permutation, count] : counts) EXPECT_NEAR(count, 1000, 130);
  EXPECT_EQ(randperm(0).numel(), 0);
}

TEST(Random, SamplesFollowTheirProbabilities) {
  Generator g(23);
  const Tensor weights = tensor({{1.0, 0.0, 3.0, 4.0}, {0.0, 0.0, 5.0, 0.0}});
  const Tensor drawn = multinomial(weights, 80'000, Replacement::Yes, g);
  std::array<int, 4> counts{};
  for (const double i : values_of(drawn.select(0, 0))) ++counts.at(static_cast<std::size_t>(i));
  EXPECT_NEAR(counts[0], 10'000, 400);
  EXPECT_EQ(counts[1], 0);
  EXPECT_NEAR(counts[2], 30'000, 700);
  EXPECT_NEAR(counts[3], 40'000, 700);
  for (const double i : values_of(drawn.select(0, 1))) ASSERT_EQ(i, 2);

  const Tensor rows = tensor({0.5, 0.2, 0.3}).expand({40'000, 3});
  const Tensor pairs = multinomial(rows, 2, Replacement::No, g);
  std::array<int, 3> first{};
  const std::vector<double> flat = values_of(pairs);
  int second_after_first = 0;
  for (std::size_t i = 0; i < flat.size(); i += 2) {
    ASSERT_NE(flat[i], flat[i + 1]);
    ++first.at(static_cast<std::size_t>(flat[i]));
    second_after_first += flat[i] == 0 && flat[i + 1] == 1 ? 1 : 0;
  }
  EXPECT_NEAR(first[0], 20'000, 500);
  EXPECT_NEAR(first[1], 8'000, 400);
  EXPECT_NEAR(second_after_first, 40'000 * 0.5 * 0.4, 400);
}

TEST(Random, ErrorsSayWhatToDo) {
  const Tensor x = empty({3});
  EXPECT_EQ(thrown_by<ValueError>([&] { bernoulli_(x, 1.5); }).message(),
            "p is 1.5; a probability is from 0 to 1");
  EXPECT_EQ(thrown_by<ValueError>([&] { bernoulli(tensor({0.5, -1.0})); }).message(),
            "a probability is -1; it must be between 0 and 1");
  EXPECT_EQ(thrown_by<ValueError>([&] { normal_(x, 0, -1); }).message(),
            "the standard deviation is -1; it must not be negative");
  EXPECT_EQ(thrown_by<ValueError>([&] { normal(tensor({0.0}), tensor({-2.0})); }).message(),
            "a standard deviation is -2; it must not be negative");
  EXPECT_EQ(thrown_by<ValueError>([&] { exponential_(x, 0); }).message(),
            "the rate is 0; it must be positive");
  EXPECT_EQ(thrown_by<ValueError>([&] { uniform_(x, 2, 1); }).message(),
            "from 2 to 1 is not a range; pass finite numbers, the lower one first");
  EXPECT_EQ(thrown_by<ValueError>([&] { randint(5, 5, {2}); }).message(),
            "from 5 up to but not including 5 there is no integer");
  EXPECT_EQ(thrown_by<ValueError>([&] { randint(0, 300, {2}, kU8); }).message(),
            "integers from 0 to 299 do not fit into u8");
  EXPECT_EQ(thrown_by<ValueError>([&] { randperm(300, kU8); }).message(),
            "n is 300; of u8 it is from 0 to 256");
  EXPECT_EQ(thrown_by<DTypeError>([&] { rand({2}, kI64); }).message(),
            "expected operands of dtype f64, f32, f16, bf16; one is i64[2]");
  EXPECT_EQ(thrown_by<ValueError>([&] { multinomial(ones({3}), 4); }).message(),
            "4 samples of 3 categories need replacement");
  EXPECT_EQ(thrown_by<ValueError>([&] { multinomial(zeros({3}), 1); }).message(),
            "the probabilities of a row sum to 0; at least one must be positive");
  EXPECT_EQ(thrown_by<ValueError>([&] { multinomial(tensor({1.0, -1.0}), 1); }).message(),
            "a probability is -1; it must be finite and not negative");
  EXPECT_EQ(thrown_by<AliasError>([&] { uniform_(empty({1}).expand({3})); }).code(), ErrorCode::Alias);
}

}  // namespace
}  // namespace pel
