// Modules: paths, loading, initialization, caches, whole models.
#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include "pellucid/nn/modules.h"
#include "pellucid/pellucid.h"

namespace pel {
namespace {

bool same_bits(const Tensor& a, const Tensor& b) {
  const Tensor x = a.detach().contiguous(), y = b.detach().contiguous();
  return to_string(x.sizes()) == to_string(y.sizes()) && x.dtype() == y.dtype() &&
         std::memcmp(x.raw_data(), y.raw_data(),
                     static_cast<std::size_t>((x.numel() * size_bytes(x.dtype())).value())) == 0;
}
double number(const Tensor& t) { return t.item().to_double(); }

struct Net : nn::Module {
  nn::Linear up{4, 8}, down{8, 1, nn::Bias::No};
  Tensor scale;
  Net() {
    add("up", up), add("down", down);
    add_buffer("scale", scale, full({}, 2));
  }
  Tensor operator()(const Tensor& x) const { return down(relu(up(x))) * scale; }
};

TEST(Module, KnowsParametersByPath) {
  Net net;
  std::string paths;
  for (const auto& each : net.named_parameters()) paths += each.path + " ";
  EXPECT_EQ(paths, "up.weight up.bias down.weight ");
  EXPECT_EQ(net.named_buffers().at(0).path, "scale");
  EXPECT_EQ(net.parameter_count(), 48);
  EXPECT_TRUE(net.up.weight.requires_grad());
  EXPECT_FALSE(net.scale.requires_grad());
  sum(net(ones({3, 4}))).backward();
  EXPECT_TRUE(net.down.weight.grad().defined());
  net.zero_grad();
  EXPECT_FALSE(net.down.weight.grad().defined());
}

TEST(Module, LoadsTheParametersOfAnotherModule) {
  Net a, b;
  std::vector<NamedTensor> state = a.named_parameters();
  for (auto& each : a.named_buffers()) state.push_back(each);
  b.load(state);
  EXPECT_TRUE(same_bits(a(ones({2, 4})), b(ones({2, 4}))));
  state.pop_back();
  EXPECT_THROW(b.load(state), ValueError);
  state.push_back({"scale", ones({2})});
  EXPECT_THROW(b.load(state), ShapeError);
  state.back().path = "other";
  EXPECT_THROW(b.load(state), ValueError);
}

TEST(Module, ChangesDtypeAndMode) {
  Net net;
  net.to(kBF16);
  EXPECT_EQ(net.up.weight.dtype(), kBF16);
  EXPECT_TRUE(net.up.weight.requires_grad());
  EXPECT_EQ(net(ones({2, 4}, kBF16)).dtype(), kBF16);
  nn::Dropout dropout(0.5);
  EXPECT_FALSE(same_bits(dropout(ones({64})), ones({64})));
  dropout.eval();
  EXPECT_TRUE(same_bits(dropout(ones({64})), ones({64})));
}

// Mean, standard deviation and bounds of the distributions that PyTorch draws from.
TEST(Init, HasPyTorchsDistributions) {
  manual_seed(4);
  const Tensor t = empty({512, 300});
  const auto check = [&](double std, double bound) {
    EXPECT_NEAR(number(mean(t)), 0, 5 * std / std::sqrt(512 * 300.)) << std;
    EXPECT_NEAR(number(sqrt(mean(square(t)))), std, 0.01 * std);
    if (bound > 0) {
      EXPECT_LE(number(amax(abs(t))), bound);
      EXPECT_GE(number(amax(abs(t))), 0.99 * bound);
    }
  };
  const auto uniform = [&](double bound) { check(bound / std::sqrt(3.), bound); };
  nn::init_xavier_uniform_(t);
  uniform(std::sqrt(6. / 812));
  nn::init_xavier_normal_(t, 2);
  check(2 * std::sqrt(2. / 812), 0);
  nn::init_kaiming_uniform_(t, std::sqrt(5.));
  uniform(1 / std::sqrt(300.));
  nn::init_kaiming_normal_(t);
  check(std::sqrt(2. / 300), 0);
  nn::init_truncated_normal_(t);
  check(0.87962566, 2);
  const nn::Linear linear(300, 512);
  EXPECT_LE(number(amax(abs(linear.weight.detach()))), 1 / std::sqrt(300.));
  EXPECT_LE(number(amax(abs(linear.bias.detach()))), 1 / std::sqrt(300.));
  EXPECT_NEAR(number(sqrt(mean(square(nn::Embedding(512, 300).weight.detach())))), 1, 0.01);
  const nn::Conv2d conv(16, 512, {3, 3}, {.groups = 2});
  EXPECT_EQ(to_string(conv.weight.sizes()), "[512, 8, 3, 3]");
  EXPECT_LE(number(amax(abs(conv.weight.detach()))), 1 / std::sqrt(72.));
}

// Tokens one at a time with a cache have the same bits as all at once.
template <class Model>
void expect_cache_agrees(const Model& model) {
  const InferenceMode inference;
  const Tensor tokens = randint(0, 100, {2, 12});
  const Tensor whole = model(tokens);
  nn::KVCaches caches = model.make_caches();
  std::vector<Tensor> parts = {model(tokens.narrow(1, 0, 5), &caches),
                               model(tokens.narrow(1, 5, 3), &caches)};
  for (int i = 8; i < 12; ++i) parts.push_back(model(tokens.narrow(1, i, 1), &caches));
  EXPECT_TRUE(same_bits(cat(parts, 1), whole));
  EXPECT_THROW(model(randint(0, 100, {2, 60}), &caches), ValueError);
}

TEST(Models, GptHasTheSameBitsWithACache) {
  nn::GPT model({.vocabulary = 100, .context = 64, .layers = 2, .heads = 2, .width = 32});
  model.eval();
  expect_cache_agrees(model);
}

TEST(Models, LlamaHasTheSameBitsWithACache) {
  nn::Llama model(
      {.vocabulary = 100, .context = 64, .layers = 2, .heads = 4, .kv_heads = 2, .width = 32, .hidden = 48});
  expect_cache_agrees(model);
}

TEST(Models, AttentionWithoutRotaryEmbeddingComputesNoPositions) {
  const nn::MultiheadAttention attention({.width = 32, .heads = 2, .causal = true});
  const Tensor x = randn({1, 8, 32});
  const InferenceMode inference;
  const std::uint64_t before = launch_count();
  attention(x);
  EXPECT_EQ(launch_count() - before, 3u);  // qkv, attention, out
}

TEST(Models, EveryParameterGetsAGradient) {
  const Tensor tokens = randint(0, 100, {2, 7});
  const auto check = [&](nn::Module& model, const Tensor& y) {
    sum(square(y)).backward();
    for (const auto& each : model.named_parameters()) {
      ASSERT_TRUE(each.tensor.grad().defined()) << each.path;
      EXPECT_TRUE(all(isfinite(each.tensor.grad())).item().to_bool()) << each.path;
    }
  };
  nn::GPT gpt({.vocabulary = 100, .context = 7, .layers = 2, .heads = 2, .width = 32});
  check(gpt, gpt(tokens));
  nn::Llama llama({.vocabulary = 100,
                   .layers = 2,
                   .heads = 4,
                   .kv_heads = 2,
                   .width = 32,
                   .hidden = 48,
                   .ties_weights = false});
  check(llama, llama(tokens));
  nn::Bert bert({.vocabulary = 100, .context = 7, .layers = 2, .heads = 2, .width = 32, .hidden = 64});
  check(bert, bert(tokens, ones({2, 7}, kBool)));
}

TEST(Models, BertDoesNotSeeWhatIsMasked) {
  const InferenceMode inference;
  nn::Bert model({.vocabulary = 100, .context = 16, .layers = 2, .heads = 2, .width = 32, .hidden = 64});
  const Tensor tokens = randint(0, 100, {1, 8});
  const Tensor padded = cat({tokens, zeros({1, 4}, kI64)}, 1);
  const Tensor mask = cat({ones({1, 8}, kBool), zeros({1, 4}, kBool)}, 1);
  EXPECT_TRUE(same_bits(model(padded, mask).narrow(1, 0, 8), model(tokens)));
}

TEST(Models, BertCompilesOnceForAllBatchesLengthsAndMasks) {
  const InferenceMode inference;
  nn::Bert model({.vocabulary = 100, .context = 16, .layers = 2, .heads = 2, .width = 32, .hidden = 64});
  const auto fast = compile(model);
  for (const auto& [batch, count] : {std::pair(2, 7), std::pair(1, 1), std::pair(5, 16), std::pair(3, 1)}) {
    const Tensor tokens = randint(0, 100, {batch, count});
    const Tensor mask = lt(arange(count), randint(1, count + 1, {batch, 1}));
    EXPECT_TRUE(same_bits(fast(tokens, mask), model(tokens, mask))) << batch << " by " << count;
  }
  EXPECT_EQ(fast.compiles(), 1u);
}

TEST(Modules, ABlockEqualsItsPartsComposed) {
  nn::TransformerBlock<nn::LayerNorm, nn::GEGLU> block({.width = 32, .heads = 2, .causal = true}, 64);
  const Tensor x = randn({2, 5, 32});
  const Tensor attended = x + block.attention(block.norm1(x));
  EXPECT_TRUE(same_bits(block(x), attended + block.mlp(block.norm2(attended))));
}

TEST(Autocast, RunsMatmulsInLowPrecisionAndLossesInF32) {
  nn::Linear layer(8, 4);
  const Tensor x = randn({3, 8});
  {
    const Autocast low(kBF16);
    const Tensor y = layer(x);
    EXPECT_EQ(y.dtype(), kBF16);
    const Tensor loss = mse_loss(y, zeros({3, 4}));
    EXPECT_EQ(loss.dtype(), kF32);
    loss.backward();
  }
  EXPECT_EQ(layer.weight.grad().dtype(), kF32);
  EXPECT_EQ(layer(x).dtype(), kF32);
}

}  // namespace
}  // namespace pel
