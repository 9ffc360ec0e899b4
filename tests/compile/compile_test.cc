// compile as a user has it: counts of kernels, bits, one compile for all sizes, and what it leaves behind.
#include <cstring>
#include <fstream>

#include <gtest/gtest.h>
#include <malloc.h>

#include "pellucid/pellucid.h"

#include "compile/equal_bits.h"
#include "tensor/block_pool.h"

namespace pel {
namespace {

template <class F>
std::vector<std::string> kernels_that_run(const F& f) {
  const Recording recording;
  f();
  std::vector<std::string> names;
  for (const Event& event : recording.events()) names.emplace_back(event.name);
  return names;
}

TEST(Compile, TheGegluMlpIsTwoKernelsWhereItWasFive) {
  const NoGrad no_grad;
  const nn::GEGLU mlp(64, 256);
  const auto fast = compile(mlp);
  const Tensor x = randn({7, 64});
  EXPECT_EQ(kernels_that_run([&] { mlp(x); }).size(), 5u);
  EXPECT_TRUE(test::equal_bits(fast(x), mlp(x)));
  const std::vector<std::string> names = kernels_that_run([&] { fast(x); });
  EXPECT_EQ(names, fast.kernels(x));
  ASSERT_EQ(names.size(), 2u);
  EXPECT_TRUE(names[0].starts_with("gemm_fused_mm_gelu_mul_0")) << names[0];
  expect_kernels(2, [&] { fast(x); });
}

struct SumOfAll {
  template <class... T>
  Tensor operator()(const Tensor& first, const T&... rest) const {
    Tensor sum = first;
    ((sum = add(mul(sum, 2), rest)), ...);
    return sum;
  }
};
template <std::size_t... I>
void expect_sum_of_all(std::index_sequence<I...>) {
  const NoGrad no_grad;
  const std::vector<Tensor> x = {(static_cast<void>(I), randn({5000}))...};
  const auto fast = compile(SumOfAll());
  EXPECT_TRUE(test::equal_bits(fast(x[I]...), SumOfAll()(x[I]...)));
  EXPECT_FALSE(fast.kernels(x[I]...).empty());
  EXPECT_EQ(fast.explain(x[I]...).graphs.at(0).inputs.size(), sizeof...(I));
  EXPECT_GT(fast.peak_bytes(x[I]...), 0);
  EXPECT_EQ(fast.compiles(), 1u);
}

TEST(Compile, AFunctionMayTakeAnyNumberOfTensors) {
  expect_sum_of_all(std::make_index_sequence<2>());
  expect_sum_of_all(std::make_index_sequence<8>());
  expect_sum_of_all(std::make_index_sequence<9>());
  expect_sum_of_all(std::make_index_sequence<40>());
}

TEST(Compile, OneCompiledFunctionServesCallsWithSeveralNumbersOfTensors) {
  const NoGrad no_grad;
  const auto fast = compile(SumOfAll());
  const Tensor a = randn({5000}), b = randn({5000}), c = randn({5000});
  EXPECT_TRUE(test::equal_bits(fast(a, b), SumOfAll()(a, b)));
  EXPECT_TRUE(test::equal_bits(fast(a, b, c), SumOfAll()(a, b, c)));
  EXPECT_EQ(fast.compiles(), 2u);
}

TEST(Compile, AFunctionMayTakeAListOfTensors) {
  const NoGrad no_grad;
  const auto sum_of_all = [](ArrayView<Tensor> list) {
    Tensor sum = list[0];
    for (std::size_t i = 1; i < list.size(); ++i) sum = add(sum, list[i]);
    return sum;
  };
  const auto of_vector = [&](const std::vector<Tensor>& list) { return sum_of_all(list); };
  const auto fast = compile(sum_of_all);
  const auto fast_of_vector = compile(of_vector);
  for (const std::size_t count : {std::size_t{2}, std::size_t{9}, std::size_t{40}}) {
    std::vector<Tensor> x;
    for (std::size_t i = 0; i < count; ++i) x.push_back(randn({5000}));
    EXPECT_TRUE(test::equal_bits(fast(x), sum_of_all(x)));
    EXPECT_TRUE(test::equal_bits(fast(ArrayView<Tensor>(x)), sum_of_all(x)));
    EXPECT_TRUE(test::equal_bits(fast_of_vector(x), sum_of_all(x)));
    EXPECT_FALSE(fast.kernels(x).empty());
    EXPECT_EQ(fast.explain(x).graphs.at(0).inputs.size(), count);
    EXPECT_GT(fast.peak_bytes(x), 0);
  }
  EXPECT_EQ(fast.compiles(), 3u);
}

TEST(Compile, ALinearHasTheKernelThatItHasWithout) {
  const NoGrad no_grad;
  const nn::Linear linear(256, 512);
  const auto fast = compile(linear);
  for (const int rows : {1, 16, 300}) {
    const Tensor x = randn({rows, 256});
    EXPECT_EQ(fast.kernels(x), kernels_that_run([&] { linear(x); })) << rows;
    EXPECT_TRUE(test::equal_bits(fast(x), linear(x))) << rows;
  }
}

TEST(Compile, ATransformerBlockIsSevenKernelsAndOneCompileForAllBatchesAndLengths) {
  const NoGrad no_grad;
  const nn::TransformerBlock<nn::RMSNorm, nn::GEGLU> block({.width = 32, .heads = 4}, 64);
  const auto fast = compile([&](const Tensor& x) { return block(x); });
  for (const int batch : {2, 1, 5}) {
    for (const int tokens : {3, 1, 17}) {
      const Tensor x = randn({batch, tokens, 32});
      EXPECT_TRUE(test::equal_bits(fast(x), block(x))) << batch << " by " << tokens;
      EXPECT_EQ(kernels_that_run([&] { block(x); }).size(), 12u);
      EXPECT_EQ(fast.kernels(x).size(), 7u);
    }
  }
  EXPECT_EQ(fast.compiles(), 1u);
  EXPECT_EQ(fast.plans(), 9u);
}

TEST(Compile, WholeModelsAreOneCompile) {
  const NoGrad no_grad;
  nn::GPTConfig gpt_config;
  gpt_config.layers = 2, gpt_config.width = 32;
  nn::LlamaConfig llama_config;
  llama_config.layers = 2, llama_config.width = 32, llama_config.hidden = 48;
  nn::GPT gpt(gpt_config);
  nn::Llama llama(llama_config);
  gpt.eval(), llama.eval();
  const auto fast_gpt = compile(gpt);
  const auto fast_llama = compile(llama);
  for (const auto& [batch, tokens] : {std::pair(2, 9), std::pair(1, 1), std::pair(3, 40)}) {
    const Tensor text = randint(0, 256, {batch, tokens});
    EXPECT_TRUE(test::equal_bits(fast_gpt(text), gpt(text))) << batch << " by " << tokens;
    EXPECT_TRUE(test::equal_bits(fast_llama(text), llama(text))) << batch << " by " << tokens;
  }
  EXPECT_EQ(fast_gpt.compiles(), 1u);
  EXPECT_EQ(fast_llama.compiles(), 1u);
}

TEST(Compile, GivesWhatTheFunctionGives) {
  const auto pair = compile([](const Tensor& x) { return std::pair(relu(x), x); });
  const auto list =
      compile([](const Tensor& x, const Tensor& y) { return std::vector<Tensor>{add(x, y), y.t()}; });
  const auto three = compile([](const Tensor& x) { return std::array{exp(x), neg(x), x.select(0, 0)}; });
  const Tensor x = randn({3, 4}), y = randn({3, 4});
  const auto [first, second] = pair(x);
  EXPECT_TRUE(test::equal_bits(first, relu(x)));
  EXPECT_TRUE(second.is_same(x));
  const std::vector<Tensor> both = list(x, y);
  EXPECT_TRUE(test::equal_bits(both[0], add(x, y)));
  EXPECT_TRUE(both[1].shares_storage(y));
  EXPECT_TRUE(test::equal_bits(both[1], y.t()));
  EXPECT_TRUE(test::equal_bits(three(x)[2], x.select(0, 0)));
}

TEST(Compile, WritesToInputsAndWeightsAreSeen) {
  const Tensor weight = ones({4});
  const auto step = [&](const Tensor& x) {
    add_(x, 1);
    mul_(weight, 2);
    return mul(x, weight);
  };
  const auto fast = compile(step);
  const Tensor x = randn({4}), y = x.clone();
  const std::uint32_t version = x.version();
  const Tensor given = fast(x);
  EXPECT_EQ(x.version(), version + 1);
  weight.fill_(1);
  EXPECT_TRUE(test::equal_bits(step(y), given));
  EXPECT_TRUE(test::equal_bits(x, y));
}

TEST(Compile, TwoResultsOfALoopDoNotShareMemory) {
  const auto both = [](const Tensor& x) {
    const Tensor least = amin(x, Axes{0}), most = amax(x, Axes{0}), logarithm = log(least);
    deg2rad_out(least, most);
    return std::pair(logarithm, most);
  };
  const Tensor x = rand({3, 5});
  const auto given = compile(both)(x), wanted = both(x);
  EXPECT_TRUE(test::equal_bits(given.first, wanted.first));
  EXPECT_TRUE(test::equal_bits(given.second, wanted.second));
}

TEST(Compile, RandomNumbersAreThoseOfTheFunction) {
  const auto noisy = [](const Tensor& x) { return std::pair(add(x, rand_like(x)), mul(x, randn_like(x))); };
  const auto fast = compile(noisy);
  const Tensor x = randn({5, 6});
  manual_seed(3);
  const auto first = noisy(x), second = noisy(x);
  manual_seed(3);
  for (const auto& wanted : {first, second}) {
    const auto given = fast(x);
    EXPECT_TRUE(test::equal_bits(given.first, wanted.first));
    EXPECT_TRUE(test::equal_bits(given.second, wanted.second));
  }
}

TEST(Compile, InsideAnotherItIsPartOfIt) {
  const auto inner = compile([](const Tensor& x) { return relu(add(x, 1)); });
  const auto outer = compile([&](const Tensor& x) { return mul(inner(x), 2); });
  const Tensor x = randn({9});
  EXPECT_TRUE(test::equal_bits(outer(x), mul(relu(add(x, 1)), 2)));
  EXPECT_EQ(inner.compiles(), 0u);
  EXPECT_EQ(outer.kernels(x).size(), 1u);
}

TEST(Compile, SaysWhatIsNotThere) {
  const auto fast = compile([](const Tensor& x) { return relu(x); });
  Tensor x = randn({3});
  x.requires_grad_();
  EXPECT_THROW(fast(x), CaptureError);
  {
    const NoGrad no_grad;
    EXPECT_TRUE(test::equal_bits(fast(x), relu(x)));
  }
  const Tensor y = randn({4});
  const auto two = compile([](const Tensor& a, const Tensor& b) { return add(a, b); });
  EXPECT_THROW(two(y.slice(0, 0, 2), y.slice(0, 2)), CaptureError);
}

TEST(Compile, AutocastIsAnotherGraph) {
  const NoGrad no_grad;
  const nn::Linear linear(8, 8);
  const auto fast = compile(linear);
  const Tensor x = randn({3, 8});
  EXPECT_EQ(fast(x).dtype(), kF32);
  for (const DType dtype : {kBF16, kF16}) {
    const Autocast autocast(dtype);
    EXPECT_EQ(autocast_dtype(), dtype);
    EXPECT_EQ(fast(x).dtype(), dtype);
    EXPECT_TRUE(test::equal_bits(fast(x), linear(x)));
  }
  EXPECT_EQ(autocast_dtype(), std::nullopt);
  EXPECT_EQ(fast.compiles(), 3u);
}

TEST(Compile, ASmallerOperandIsComputedInTheLoopThatReadsIt) {
  const auto scaled = [](const Tensor& x, const Tensor& gain) { return mul(x, add(gain, 1)); };
  const auto fast = compile(scaled);
  const auto dear = compile([](const Tensor& x, const Tensor& gain) { return mul(x, exp(gain)); });
  const Tensor x = randn({5, 6}), gain = randn({6});
  EXPECT_TRUE(test::equal_bits(fast(x, gain), scaled(x, gain)));
  EXPECT_EQ(fast.kernels(x, gain).size(), 1u);
  EXPECT_EQ(dear.kernels(x, gain).size(), 2u);
  EXPECT_NE(dear.explain().text().find("is expensive"), std::string::npos) << dear.explain();
}

TEST(Compile, ZeroByAConditionIsNotZero) {
  const auto divided = [](const Tensor& x, const Tensor& condition) {
    return div(logical_xor(x, x).to(kF32), condition);
  };
  const Tensor x = full({4}, 1.5), condition = tensor({true, true, false, true});
  const Tensor given = compile(divided)(x, condition);
  EXPECT_TRUE(isnan(given.select(0, 2)).item().to_bool());
  EXPECT_EQ(given.select(0, 1).item().to_double(), 0);
}

TEST(Compile, ADivisionByZeroIsReportedAlsoWhereNothingReadsTheResult) {
  const NoGrad no_grad;
  const auto fast = compile([](const Tensor& x) { return isneginf(remainder(x, x)); });
  EXPECT_TRUE(test::equal_bits(fast(full({3}, 2, kI64)), full({3}, false, kBool)));
  EXPECT_EQ(fast.kernels(full({3}, 2, kI64)).size(), 1u);
  EXPECT_THROW(fast(zeros({3}, kI64)), ValueError);
}

TEST(Compile, WhatDependsOnNoInputIsComputedOnce) {
  const auto rotated = [](const Tensor& x) { return mul(x, cos(div(arange(0, 8, 2, kF32), 3.0))); };
  const auto fast = compile(rotated);
  for (const int rows : {3, 1, 7}) {
    const Tensor x = randn({rows, 4});
    EXPECT_TRUE(test::equal_bits(fast(x), rotated(x)));
    EXPECT_EQ(fast.kernels(x).size(), 1u);
  }
  const auto made = compile([](const Tensor& x) { return std::pair(neg(x), zeros({3})); });
  const Tensor first = made(ones({2})).second, second = made(ones({2})).second;
  first.fill_(1);
  EXPECT_TRUE(test::equal_bits(second, zeros({3})));
}

// Pages that could be written and executed would let a broken write become code.
// Other code generators of the process may have some.
std::size_t pages_to_write_and_run() {
  std::ifstream maps("/proc/self/maps");
  std::size_t count = 0;
  for (std::string line; std::getline(maps, line);) count += line.find("wx") != std::string::npos ? 1 : 0;
  return count;
}

TEST(Compile, NoPageIsWritableAndExecutable) {
  const std::size_t before = pages_to_write_and_run();
  for (int i = 1; i < 4; ++i) {
    const auto fast = compile([i](const Tensor& x) { return relu(add(mul(x, i), i)); });
    fast(randn({8}));
    EXPECT_EQ(pages_to_write_and_run(), before);
  }
}

TEST(Compile, CompilingAndDroppingLeavesNothing) {
  const auto once = [](int i) {
    const auto fast = compile([i](const Tensor& x) { return relu(add(mul(x, i), i)); });
    fast(randn({8}));
  };
  const auto in_use = [] {
    const struct mallinfo2 heap = mallinfo2();
    return static_cast<double>(heap.uordblks + heap.hblkhd);
  };
  const auto mappings = [] {
    std::ifstream maps("/proc/self/maps");
    return std::count(std::istreambuf_iterator<char>(maps), {}, '\n');
  };
#ifdef PEL_ASAN  // its report finds what was lost: mallinfo2 does not count its allocations
  constexpr int times = 100;
#else  // caches of malloc grow by up to 16 kB: with fewer compiles that would be over the bound
  constexpr int times = 1000;
#endif
  for (int i = 0; i < times; ++i) once(i);  // what is kept for good is there then
  const double before = in_use();
  const auto mapped = mappings();
  for (int i = 0; i < times; ++i) once(i);
  EXPECT_LT(in_use() - before, 32 * times) << "bytes a compile";
  EXPECT_LT(mappings() - mapped, 20);
}

}  // namespace
}  // namespace pel
