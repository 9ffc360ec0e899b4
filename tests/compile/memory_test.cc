// The memory of a plan: the forecast is exact, and little more than what is in use at one time.
#include <functional>

#include <gtest/gtest.h>

#include "pellucid/pellucid.h"

#include "compile/arena.h"
#include "compile/compiled_function.h"
#include "compile/equal_bits.h"
#include "compile/live_bytes.h"
#include "compile/passes/fuse_pointwise.h"
#include "compile/passes/order_for_memory.h"
#include "compile/passes/recompute.h"
#include "compile/replay.h"
#include "compile/run_pass.h"

namespace pel {
namespace {

using compiler::ArenaHost, compiler::ArenaPiece, compiler::Graph;
using TensorList = std::vector<Tensor>;

// What a call adds to the memory in use, at its peak.
template <class F>
std::int64_t measured_peak(const F& call) {
  reset_peak_memory();
  const std::int64_t before = memory_stats().data_bytes;
  const auto results = call();
  return memory_stats().peak_data_bytes - before;
}

// No two pieces that are in use together share a byte, and none lies in a host that is written already.
void expect_apart(const std::vector<ArenaPiece>& pieces, const std::vector<ArenaHost>& hosts) {
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const ArenaPiece& a = pieces[i];
    EXPECT_EQ(a.offset % 64, 0);
    if (a.host) {
      EXPECT_LT(a.last, hosts[*a.host].first);
      EXPECT_LE(a.offset + a.bytes, hosts[*a.host].bytes);
    }
    for (std::size_t j = 0; j < i; ++j) {
      const ArenaPiece& b = pieces[j];
      if (a.host != b.host || a.last < b.first || b.last < a.first) continue;
      EXPECT_TRUE(a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset) << i << " and " << j;
    }
  }
}

TEST(Arena, PiecesInUseTogetherLieApart) {
  manual_seed(1);
  for (int round = 0; round < 50; ++round) {
    const auto number = [](std::int64_t most) {
      return static_cast<std::size_t>(randint(0, most, {1}).item().to_int());
    };
    std::vector<ArenaPiece> pieces;
    std::vector<ArenaHost> hosts;
    for (std::size_t i = 0, count = 1 + number(40); i < count; ++i) {
      const std::size_t first = number(30);
      pieces.push_back(
          {.bytes = static_cast<std::int64_t>(1 + number(5000)), .first = first, .last = first + number(8)});
    }
    for (std::size_t i = 0, count = number(3); i < count; ++i)
      hosts.push_back({static_cast<std::int64_t>(number(9000)), number(40)});
    const std::int64_t bytes = place_pieces(pieces, hosts);
    expect_apart(pieces, hosts);
    std::vector<ArenaPiece> inside;
    for (const ArenaPiece& piece : pieces)
      if (!piece.host) inside.push_back(piece);
    EXPECT_GE(bytes, max_in_use(inside));
    EXPECT_LE(static_cast<double>(bytes), 1.25 * static_cast<double>(max_in_use(inside)) + 64 * 40);
  }
}

TEST(Arena, AResultHoldsOtherPiecesUntilItIsWritten) {
  std::vector<ArenaPiece> pieces = {{.bytes = 100, .first = 0, .last = 1},
                                    {.bytes = 80, .first = 1, .last = 2},
                                    {.bytes = 50, .first = 0, .last = 3}};
  const std::vector<ArenaHost> hosts = {{256, 3}};
  EXPECT_EQ(place_pieces(pieces, hosts), 50);
  expect_apart(pieces, hosts);
  EXPECT_EQ(pieces[2].host, std::nullopt);
}

TEST(Memory, TransformerBlocksTakeWhatIsInUseAtOnce) {
  const NoGrad no_grad;
  for (const int width : {64, 192}) {
    const nn::TransformerBlock<nn::RMSNorm, nn::GEGLU> block({.width = width, .heads = 4}, 3 * width);
    compiler::CompiledFunction fast([&](ArrayView<Tensor> in) { return TensorList{block(in[0])}; });
    for (const auto& [batch, tokens] : {std::pair(1, 64), std::pair(3, 1), std::pair(2, 200)}) {
      const TensorList inputs = {randn({batch, tokens, width})};
      const auto plan = fast.plan_for(inputs);
      EXPECT_LE(static_cast<double>(plan->arena_bytes()), 1.02 * static_cast<double>(plan->live_bytes()));
    }
  }
}

// For each of these calls, the forecast and what the allocator counts.
template <class F>
void expect_forecast(const F& fast, const std::vector<Tensor>& calls) {
  for (const Tensor& x : calls) {
    const std::int64_t forecast = fast.peak_bytes(x);
    EXPECT_EQ(forecast, measured_peak([&] { return fast(x); })) << to_string(x.sizes());
  }
}

TEST(Memory, TheForecastIsWhatTheAllocatorCounts) {
  const NoGrad no_grad;
  const nn::GEGLU mlp(64, 256);
  expect_forecast(compile(mlp), {randn({1, 64}), randn({7, 64}), randn({300, 64})});
  const nn::Linear linear(256, 512);
  expect_forecast(compile(linear), {randn({1, 256}), randn({128, 256})});
  const nn::TransformerBlock<nn::RMSNorm, nn::GEGLU> block({.width = 64, .heads = 4}, 128);
  expect_forecast(compile([&](const Tensor& x) { return block(x); }),
                  {randn({2, 3, 64}), randn({1, 200, 64}), randn({3, 129, 64})});
  expect_forecast(compile([](const Tensor& x) { return std::pair(softmax(x, -1), x.t()); }),
                  {randn({3, 4}), randn({300, 400})});
  expect_forecast(compile([](const Tensor& x) { return bmm(x, x.transpose(1, 2)); }),
                  {randn({4, 100, 32}), randn({2, 300, 300})});
  expect_forecast(compile([](const Tensor& x) { return exp(x).slice(0, 1); }), {randn({1000}), randn({3})});
}

TEST(Memory, AFusedRowKernelOverwritesAnInputThatNothingReadsLater) {
  const NoGrad no_grad;
  const Tensor w = randn({128, 128}), narrow = randn({128, 4});
  const std::int64_t bytes = 1024 * 128 * 4;  // of a matmul, many times its scratch
  const std::pair<const char*, std::function<Tensor(const Tensor&)>> rows[] = {
      {"softmax", [](const Tensor& x) { return softmax(mul(x, 0.125), -1); }},
      {"rms_norm", [](const Tensor& x) { return rms_norm(gelu(x), {x.size(-1)}); }},
      {"layer_norm", [](const Tensor& x) { return layer_norm(relu(x), {x.size(-1)}); }},
      {"log_softmax", [](const Tensor& x) { return neg(log_softmax(x, -1)); }},
  };
  for (const auto& [name, f] : rows) {
    const auto whole = [&](const Tensor& x) { return mm(f(mm(x, w)), narrow); };
    compiler::CompiledFunction fast([&](ArrayView<Tensor> in) { return TensorList{whole(in[0])}; });
    const TensorList inputs = {randn({1024, 128})};
    const auto plan = fast.plan_for(inputs);
    EXPECT_EQ(plan->kernels().size(), 3U) << name;
    EXPECT_LT(plan->arena_bytes(), 2 * bytes) << name << "\n" << plan->text();
    EXPECT_TRUE(test::equal_bits(fast(inputs)[0], whole(inputs[0]))) << name;
    expect_forecast(compile(whole), inputs);
  }
}

// Its rows are written before all of them is read, or twice.
TEST(Memory, AFusedRowKernelThatStillReadsItsInputDoesNotOverwriteIt) {
  const NoGrad no_grad;
  const Tensor w = randn({128, 128});
  const auto f = [&](const Tensor& x) {
    const Tensor a = mm(x, w), h = add(a, 1), n = softmax(h, -1);
    return add(mm(h, w), mm(n, w));
  };
  compiler::CompiledFunction fast([&](ArrayView<Tensor> in) { return TensorList{f(in[0])}; });
  const TensorList inputs = {randn({128, 128})};
  EXPECT_TRUE(test::equal_bits(fast(inputs)[0], f(inputs[0])));
  expect_forecast(compile(f), inputs);
}

TEST(Memory, TheForecastHoldsForGpt) {
  const NoGrad no_grad;
  nn::GPTConfig config;
  config.layers = 2, config.width = 64, config.vocabulary = 300;
  nn::GPT gpt(config);
  gpt.eval();
  expect_forecast(compile(gpt),
                  {randint(0, 256, {1, 1}), randint(0, 256, {2, 33}), randint(0, 256, {4, 128})});
}

// A step from no gradients to new ones.
TEST(Memory, ATrainingStepTakesWhatItSaysAndLessThanWithoutCompile) {
  for (const auto& [layers, width, batch, tokens] :
       {std::tuple(1, 64, 2, 16), std::tuple(2, 64, 4, 64), std::tuple(3, 96, 2, 100)}) {
    nn::GPTConfig config;
    config.layers = layers, config.width = width, config.vocabulary = 300;
    nn::GPT gpt(config);
    optim::AdamW optimizer(gpt, {.lr = 1e-3});
    const auto step = [&](const Tensor& x, const Tensor& y) {
      optimizer.zero_grad();
      const Tensor loss = cross_entropy(gpt(x).flatten(0, 1), y.flatten(0, 1));
      loss.backward();
      optimizer.step();
      return loss.detach();
    };
    const auto fast = compile(step);
    const Tensor x = randint(0, 300, {batch, tokens}), y = randint(0, 300, {batch, tokens});
    fast(x, y);
    const auto measured = [&](const auto& call) {
      optimizer.zero_grad();
      return measured_peak([&] { return call(x, y); });
    };
    const std::int64_t without = measured(step), given = measured(fast);
    EXPECT_EQ(given, fast.peak_bytes(x, y));
    EXPECT_LT(given, without) << layers << " layers of " << width;
  }
}

std::int64_t peak_of(const Graph& graph) {
  return compiler::LiveBytes(graph).peak(compiler::given_order(graph));
}

TEST(OrderForMemory, TheCallThatFreesMoreRunsFirst) {
  const Graph before = test::parse_graph(R"(graph(%0: f32[s0], %1: f32[64, 64]) {
  %2 = mm(%1, %1) : f32[64, 64]
  %3 = mm(%1, %1) : f32[64, 64]
  %4 = mm(%1, %1) : f32[64, 64]
  %5 = sum(%2, [0, 1], false, none) : f32[]
  %6 = sum(%3, [0, 1], false, none) : f32[]
  %7 = sum(%4, [0, 1], false, none) : f32[]
  return %5, %6, %7
})");
  const test::Passed after = test::run_pass(compiler::order_for_memory, before);
  EXPECT_LT(peak_of(after.graph), peak_of(before) / 2);
  EXPECT_EQ(after.text, R"(graph(%0: f32[s0], %1: f32[64, 64]) {
  %2 = mm(%1, %1) : f32[64, 64]
  %5 = sum(%2, [0, 1], false, none) : f32[]
  %3 = mm(%1, %1) : f32[64, 64]
  %6 = sum(%3, [0, 1], false, none) : f32[]
  %4 = mm(%1, %1) : f32[64, 64]
  %7 = sum(%4, [0, 1], false, none) : f32[]
  return %5, %6, %7
}
)");
  EXPECT_NE(after.why.find("in use at once"), std::string::npos) << after.why;
}

TEST(OrderForMemory, LeavesWhatGainsNothingAndKeepsWritesAndRandomNumbersInOrder) {
  for (const char* text : {R"(graph(%0: f32[s0]) {
  %1 = exp(%0) : f32[s0]
  %2 = neg(%1) : f32[s0]
  return %2
}
)",
                           R"(graph(%0: f32[64, 64]) {
  %1 = rand_like(%0, none, none, none, none) : f32[64, 64]
  %2 = rand_like(%0, none, none, none, none) : f32[64, 64]
  %3 = rand_like(%0, none, none, none, none) : f32[64, 64]
  %4 = slice(%0, 0, 1, none, 1) : f32[63, 64]
  %5 = sum(%0, [0, 1], false, none) : f32[]
  %4 = mul_(%4, 2) : f32[63, 64]
  %6 = sum(%0, [0, 1], false, none) : f32[]
  return %1, %2, %3, %5, %6
}
)"}) {
    const test::Passed after = test::run_pass(compiler::order_for_memory, text);
    EXPECT_EQ(after.text, text);
    EXPECT_EQ(after.why, "");
  }
}

TEST(OrderForMemory, ALoopThatWritesToAnInputComesAfterItsConsumers) {
  compiler::CompiledFunction fast([](ArrayView<Tensor> in) {
    const Tensor large = mm(in[0], in[0]), total = sum(in[0]), other = sum(large);
    const Tensor twice = mul(in[0], 2);
    add_(in[0], 1);
    return TensorList{total, other, sum(mul(twice, in[0]))};
  });
  const Tensor x = randn({40, 40}), y = x.clone();
  const Tensor total = sum(y);
  const TensorList given = fast(TensorList{x});
  EXPECT_TRUE(test::equal_bits(given[0], total));
  EXPECT_TRUE(test::equal_bits(x, add(y, 1)));
}

// A GeGLU layer forward, and the gradients of its two halves.
constexpr const char* kTrainingStep =
    R"(graph(%0: f32[s0, s1], %1: f32[s1, s2], %2: f32[s1, s2], %3: f32[s2, s1]) {
  %5 = mm(%0, %1) : f32[s0, s2]
  %6 = mm(%0, %2) : f32[s0, s2]
  %7 = gelu(%5, 'tanh') : f32[s0, s2]
  %8 = mul(%7, %6) : f32[s0, s2]
  %9 = mm(%8, %3) : f32[s0, s1]
  %10 = sub(%9, %0, 1) : f32[s0, s1]
  %11 = t(%3) : f32[s1, s2] strides [1, s1]
  %12 = mm(%10, %11) : f32[s0, s2]
  %13 = mul(%12, %7) : f32[s0, s2]
  %14 = mul(%12, %6) : f32[s0, s2]
  %15 = gelu_backward(%14, %5, 'tanh') : f32[s0, s2]
  %16 = t(%8) : f32[s2, s0] strides [1, s2]
  %17 = mm(%16, %10) : f32[s2, s1]
  return %13, %15, %17
})";

Graph fused_graph(const Graph& graph) { return test::run_pass(compiler::fuse_pointwise, graph).graph; }
Graph ordered(const Graph& graph) { return test::run_pass(compiler::order_for_memory, graph).graph; }

TensorList replay_step(const Graph& graph) {
  manual_seed(4);
  const TensorList inputs = {randn({7, 7}), randn({7, 7}), randn({7, 7}), randn({7, 7})};
  return test::replay(graph, inputs, graph.sizes->hints());
}

TEST(Recompute, AValueThatALoopCanRecomputeIsNotHeld) {
  const Graph before = test::parse_graph(kTrainingStep);
  const test::Passed after = test::run_pass(compiler::recompute, before);
  EXPECT_EQ(
      after.why,
      "recompute: %7 = gelu: recomputed for 1 late consumer, by 1 call: 196 B are not held in memory\n");
  const Graph fused_before = fused_graph(before), fused = fused_graph(after.graph);
  EXPECT_LT(peak_of(fused), peak_of(fused_before));
  EXPECT_EQ(fused.nodes.size(), fused_before.nodes.size());  // no kernel more
  const TensorList wanted = replay_step(before), given = replay_step(fused);
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_TRUE(test::equal_bits(wanted[i], given[i])) << i;
}

// A layer with gelu, two wide ones forward, and gradients that read the gelu and its input.
TEST(Recompute, AValueThatALaterLoopCanComputeIsNotHeldAcrossThePeak) {
  const Graph before =
      test::parse_graph(R"(graph(%0: f32[s0, s1], %1: f32[s1, s2], %2: f32[s2, 64], %3: f32[64, s2]) {
  %4 = mm(%0, %1) : f32[s0, s2]
  %5 = gelu(%4, 'tanh') : f32[s0, s2]
  %6 = mm(%5, %2) : f32[s0, 64]
  %7 = mm(%6, %3) : f32[s0, s2]
  %8 = t(%5) : f32[s2, s0] strides [1, s2]
  %9 = mm(%8, %7) : f32[s2, s2]
  %10 = gelu_backward(%7, %4, 'tanh') : f32[s0, s2]
  return %9, %10
})");
  const test::Passed after = test::run_pass(compiler::recompute, before);
  EXPECT_NE(after.why.find("recomputed for 1 late consumer, by 2 calls"), std::string::npos) << after.why;
  const Graph fused = fused_graph(after.graph);
  EXPECT_EQ(fused.nodes.size(), before.nodes.size());  // no kernel more
  EXPECT_LT(peak_of(ordered(fused)), peak_of(ordered(before)));
  manual_seed(4);
  const TensorList inputs = {randn({7, 7}), randn({7, 7}), randn({7, 64}), randn({64, 7})};
  const TensorList wanted = test::replay(before, inputs, before.sizes->hints()),
                   given = test::replay(fused, inputs, fused.sizes->hints());
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_TRUE(test::equal_bits(wanted[i], given[i])) << i;
}

TEST(Recompute, ABudgetRecomputesMoreAndSaysIfItIsNotMet) {
  const Graph before = test::parse_graph(kTrainingStep);
  const Graph without = fused_graph(test::run_pass(compiler::recompute, before).graph);
  const std::int64_t peak = peak_of(ordered(without));
  const Graph after = test::run_pass(compiler::recompute, before, {.memory_budget_bytes = peak - 1}).graph;
  EXPECT_LE(peak_of(ordered(fused_graph(after))), peak);
  const test::Passed impossible = test::run_pass(compiler::recompute, before, {.memory_budget_bytes = 1});
  EXPECT_NE(impossible.why.find("the budget"), std::string::npos) << impossible.why;
  const TensorList wanted = replay_step(before), given = replay_step(after);
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_TRUE(test::equal_bits(wanted[i], given[i])) << i;
}

TEST(Recompute, RandomNumbersAndWritesAreComputedOnce) {
  for (const char* text : {R"(graph(%0: f32[s0, s0]) {
  %1 = rand_like(%0, none, none, none, none) : f32[s0, s0]
  %2 = mul(%0, %1) : f32[s0, s0]
  %3 = mm(%2, %0) : f32[s0, s0]
  %4 = add(%3, %1, 1) : f32[s0, s0]
  return %4
}
)",
                           R"(graph(%0: f32[s0, s0]) {
  %1 = exp(%0) : f32[s0, s0]
  %2 = mul(%1, 2) : f32[s0, s0]
  %3 = mm(%2, %0) : f32[s0, s0]
  %4 = add_(%0, %3, 1) : f32[s0, s0]
  %5 = add(%3, %1, 1) : f32[s0, s0]
  return %5
}
)"}) {
    const test::Passed after = test::run_pass(compiler::recompute, text);
    EXPECT_EQ(after.text, text) << after.why;
  }
}

}  // namespace
}  // namespace pel
