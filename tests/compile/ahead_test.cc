// Functions that are compiled before their first call, from a description of their inputs.
#include <cmath>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "pellucid/compile_ahead.h"
#include "pellucid/pellucid.h"

#include "compile/equal_bits.h"
#include "compile/without_places.h"
#include "support/errors.h"

namespace pel {
namespace {

using NumberKind = CallNumber::Kind;

const std::vector<CallNumber> kRows = {{"rows", 5}};
std::vector<DescribedInput> rows_and_weight(Dims n) { return {{kF32, {n[0], 8}}, {kF32, {8, 4}}}; }
std::vector<Tensor> two_calls(ArrayView<Tensor> in, Dims n) {
  return {gelu(matmul(in[0], in[1])), div(in[0], n[0])};
}

std::vector<void*> data_of(const std::vector<Tensor>& tensors) {
  std::vector<void*> data;
  for (const Tensor& t : tensors) data.push_back(t.raw_data());
  return data;
}
// The results of a call have the bits of the function itself.
void expect_eager_bits(const CompiledAhead& f, const CompiledAhead::Body& body,
                       const std::vector<Tensor>& inputs, const std::vector<std::int64_t>& numbers) {
  const std::vector<Dim> dims(numbers.begin(), numbers.end());
  const std::vector<Tensor> wanted = body(inputs, dims), given = f(data_of(inputs), numbers);
  ASSERT_EQ(wanted.size(), given.size());
  for (std::size_t i = 0; i < wanted.size(); ++i)
    EXPECT_TRUE(test::equal_bits_and_strides(wanted[i], given[i])) << "output " << i;
}

TEST(CompiledAhead, IsCompiledOnceBeforeItsFirstCall) {
  const CompiledAhead f(kRows, rows_and_weight, two_calls);
  EXPECT_EQ(f.compiles(), 1u);
  EXPECT_EQ(f.plans(), 1u);
  for (const std::int64_t rows : {5, 2, 100, 5, 17})
    expect_eager_bits(f, two_calls, {randn({rows, 8}), randn({8, 4})}, {rows});
  EXPECT_EQ(f.compiles(), 1u);
  EXPECT_EQ(f.plans(), 4u);
}

TEST(CompiledAhead, SizesShareSymbolsAndMayBeExpressions) {
  // The second input has as many rows as the first one has columns, so no guard has to compare them.
  const CompiledAhead f(
      {{"axis 0 of x", 3}, {"axis 1 of x", 6}},
      [](Dims n) { return std::vector<DescribedInput>{{kF32, {n[0], n[1]}}, {kF32, {n[1], n[1] / 2}}}; },
      [](ArrayView<Tensor> in, Dims) { return std::vector<Tensor>{matmul(in[0], in[1])}; });
  EXPECT_EQ(test::without_places(f.graph()), R"(graph(%0: f32[s0, s1], %1: f32[s1, (s1 // 2)]) {
  %2 = mm(%0, %1) : f32[s0, (s1 // 2)]
  return %2
}
)");
  EXPECT_NE(f.explain().json().find("axis 1 of x"), std::string::npos);
}

TEST(CompiledAhead, StridesAreThoseThatWereDescribed) {
  const CompiledAhead::Body body = [](ArrayView<Tensor> in, Dims) {
    return std::vector<Tensor>{relu(in[0]), sum(in[0], Axes{0})};
  };
  const CompiledAhead f(
      {{"columns", 4}, {"stride", 20, NumberKind::Stride}},
      [](Dims n) { return std::vector<DescribedInput>{{kF32, {3, n[0]}, {n[1], 1}}}; }, body);
  const Tensor whole = randn({3, 20}), wide = randn({3, 50});
  expect_eager_bits(f, body, {whole.slice(1, 0, 4)}, {4, 20});
  expect_eager_bits(f, body, {wide.slice(1, 0, 13)}, {13, 50});
  EXPECT_EQ(f.compiles(), 1u);
}

TEST(CompiledAhead, NumbersAreUsedByOps) {
  const CompiledAhead::Body body = [](ArrayView<Tensor> in, Dims n) {
    return std::vector<Tensor>{in[0].slice(0, n[0], n[0] + 2), add(in[0], n[1])};
  };
  const CompiledAhead f(
      {{"begin", 1}, {"shift", -3, NumberKind::Any}},
      [](Dims) { return std::vector<DescribedInput>{{kF32, {10}}}; }, body);
  for (const std::int64_t begin : {1, 0, 7})
    for (const std::int64_t shift : {-3, 0, 1000}) expect_eager_bits(f, body, {randn({10})}, {begin, shift});
}

TEST(CompiledAhead, CompilesAgainWhereAComparisonOfSizesFails) {
  const CompiledAhead::Body body = [](ArrayView<Tensor> in, Dims n) {
    return std::vector<Tensor>{n[0] < 4 ? relu(in[0]) : neg(in[0])};
  };
  const CompiledAhead f(kRows, [](Dims n) { return std::vector<DescribedInput>{{kF32, {n[0]}}}; }, body);
  for (const std::int64_t rows : {5, 9, 3, 2, 8}) expect_eager_bits(f, body, {randn({rows})}, {rows});
  EXPECT_EQ(f.compiles(), 2u);
}

TEST(CompiledAhead, WritesToTheCallersMemory) {
  const CompiledAhead f(
      kRows, [](Dims n) { return std::vector<DescribedInput>{{kF32, {n[0]}}}; },
      [](ArrayView<Tensor> in, Dims) {
        in[0].copy_(add(in[0], 1));
        return std::vector<Tensor>{in[0], in[0].slice(0, 1, 3)};
      });
  const Tensor x = zeros({7});
  const std::vector<Tensor> given = f(data_of({x}), {7});
  EXPECT_EQ(sum(x).item().to_double(), 7);
  EXPECT_EQ(given[0].raw_data(), x.raw_data());
  EXPECT_EQ(given[1].raw_data(), static_cast<float*>(x.raw_data()) + 1);
  // The next call has tensors of its own: what the first one returned still refers to x.
  const Tensor y = ones({7});
  f(data_of({y}), {7});
  EXPECT_EQ(given[0].raw_data(), x.raw_data());
  EXPECT_EQ(sum(given[0]).item().to_double(), 7);
}

TEST(CompiledAhead, InputsMayShareMemoryAndBeEmpty) {
  const CompiledAhead::Body body = [](ArrayView<Tensor> in, Dims) {
    return std::vector<Tensor>{add(in[0], in[1])};
  };
  const CompiledAhead f(
      kRows, [](Dims n) { return std::vector<DescribedInput>{{kF32, {n[0]}}, {kF32, {n[0]}}}; }, body);
  const Tensor x = randn({5});
  expect_eager_bits(f, body, {x, x}, {5});
  EXPECT_EQ(f(std::vector<void*>{nullptr, nullptr}, {0})[0].numel(), 0);
}

TEST(CompiledAhead, SaysWhenAnInputIsNotUsedAnyMore) {
  // Each step multiplies by one more input; the last one is returned as a view, so it stays in use.
  const CompiledAhead f(
      kRows, [](Dims n) { return std::vector<DescribedInput>(4, {kF32, {n[0], n[0]}}); },
      [](ArrayView<Tensor> in, Dims) {
        return std::vector<Tensor>{matmul(matmul(in[0], in[1]), in[2]), in[3].t()};
      });
  std::vector<Tensor> inputs;
  for (int i = 0; i < 4; ++i) inputs.push_back(randn({5, 5}));
  const Tensor wanted = matmul(matmul(inputs[0], inputs[1]), inputs[2]);
  std::vector<std::size_t> order;
  const std::vector<Tensor> given = f(data_of(inputs), {5}, [&](std::size_t i) {
    order.push_back(i);
    inputs[i].fill_(NAN);  // nobody reads it any more
  });
  EXPECT_EQ(order, (std::vector<std::size_t>{0, 1, 2}));
  EXPECT_TRUE(test::equal_bits_and_strides(given[0], wanted));
}

TEST(CompiledAhead, SeveralThreadsCallIt) {
  const CompiledAhead f(kRows, rows_and_weight, two_calls);
  const auto calls = [&](int seed) {
    for (int i = 0; i < 50; ++i) {
      const std::int64_t rows = 2 + (seed + i) % 7;
      const Tensor x = full({rows, 8}, static_cast<double>(seed)), w = ones({8, 4});
      const std::vector<Tensor> given = f(data_of({x, w}), {rows});
      EXPECT_EQ(static_cast<const float*>(given[1].raw_data())[0],
                static_cast<float>(seed) / static_cast<float>(rows));
    }
  };
  std::thread other(calls, 3);
  calls(5);
  other.join();
}

TEST(CompiledAhead, ErrorsSayWhatToPass) {
  const CompiledAhead f(kRows, rows_and_weight, two_calls);
  const auto message = [&](const std::vector<std::int64_t>& numbers) {
    return std::string(test::thrown_by<ValueError>([&] { f(std::vector<void*>{}, numbers); }).what());
  };
  EXPECT_NE(message({5}).find("a call passes 0 inputs, but 2 were described"), std::string::npos);
  EXPECT_NE(message({5, 6}).find("a call passes 2 numbers, but the function was compiled with 1"),
            std::string::npos);
  EXPECT_NE(message({-1}).find("rows is -1: sizes and strides are not negative"), std::string::npos);
}

}  // namespace
}  // namespace pel
