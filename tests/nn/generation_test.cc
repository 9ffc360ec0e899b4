#include <cmath>
#include <map>

#include <gtest/gtest.h>

#include "pellucid/pellucid.h"

#include "support/bytes.h"
#include "support/errors.h"

namespace pel {
namespace {

using Tokens = std::vector<std::int64_t>;

nn::LlamaConfig small() {
  return {
      .vocabulary = 100, .context = 64, .layers = 2, .heads = 4, .kv_heads = 2, .width = 32, .hidden = 48};
}

struct Written {
  std::vector<Tokens> texts;
  std::vector<std::vector<std::vector<char>>> logits;  // bytes, by prompt and token
};
template <class Model>
Written write_on(const Model& model, const std::vector<Tokens>& prompts, nn::GenerateOptions options = {}) {
  Written written;
  written.logits.resize(prompts.size());
  options.on_logits = [&](std::size_t prompt, const Tensor& logits) {
    written.logits[prompt].push_back(test::bytes_of(logits));
  };
  written.texts = nn::generate(model, prompts, options);
  return written;
}

// Prompts of different lengths, and one of them alone.
const std::vector<Tokens> kPrompts = {
    {5, 17, 3}, {1}, {9, 8, 7, 6, 5, 4, 3, 2, 1, 50, 51}, {99, 0, 99, 0, 99}};

TEST(Generate, APromptGetsTheSameBitsAloneAndInABatch) {
  manual_seed(3);
  const nn::Llama model(small());
  for (const double temperature : {0.0, 2.0}) {
    nn::GenerateOptions options;
    options.max_tokens = 12;
    options.sampling = {.temperature = temperature, .top_p = 0.9, .seed = 4};
    const Written together = write_on(model, kPrompts, options);
    for (std::size_t i = 0; i < kPrompts.size(); ++i) {
      const Written alone = write_on(model, {kPrompts[i]}, options);
      EXPECT_EQ(alone.texts[0], together.texts[i]) << "prompt " << i;
      EXPECT_EQ(alone.logits[0], together.logits[i]) << "prompt " << i;
    }
  }
}

TEST(Generate, LogitsAreThoseOfTheWholeText) {
  manual_seed(4);
  const nn::Llama model(small());
  const Written written = write_on(model, {kPrompts[2]}, {.max_tokens = 6});
  Tokens all = kPrompts[2];
  all.insert(all.end(), written.texts[0].begin(), written.texts[0].end());
  const InferenceMode inference;
  const Tensor whole = model(from_data(all, {1, static_cast<std::int64_t>(all.size())})).select(0, 0);
  for (std::int64_t i = 0; i < 6; ++i) {
    const auto at = static_cast<std::int64_t>(kPrompts[2].size()) - 1 + i;
    EXPECT_EQ(test::bytes_of(whole.select(0, at)), written.logits[0][static_cast<std::size_t>(i)]);
  }
}

TEST(Generate, ATextEndsAtAStopTokenAndWhenTheCallerStopsIt) {
  manual_seed(5);
  const nn::Llama model(small());
  const std::vector<Tokens> free = nn::generate(model, kPrompts, {.max_tokens = 10});
  const Tokens& longest = free[0];
  const std::int64_t stop = longest[4];
  const auto first = std::find(longest.begin(), longest.end(), stop);
  EXPECT_EQ(nn::generate(model, {kPrompts[0]}, {.max_tokens = 10, .stops = {stop}})[0],
            Tokens(longest.begin(), first));
  std::map<std::size_t, int> seen;
  nn::GenerateOptions options;
  options.max_tokens = 10;
  options.on_token = [&](std::size_t prompt, std::int64_t) {
    return ++seen[prompt] < static_cast<int>(prompt) + 2;
  };
  const std::vector<Tokens> cut = nn::generate(model, kPrompts, options);
  for (std::size_t i = 0; i < cut.size(); ++i)
    EXPECT_EQ(cut[i], Tokens(free[i].begin(), free[i].begin() + static_cast<std::ptrdiff_t>(i) + 2));
}

TEST(Generate, TheCallerMayChangeTheLogits) {
  manual_seed(6);
  const nn::Llama model(small());
  nn::GenerateOptions options;
  options.max_tokens = 3;
  options.on_logits = [](std::size_t, const Tensor& logits) { logits.narrow(0, 42, 1).fill_(1e9); };
  EXPECT_EQ(nn::generate(model, {{1, 2}}, options)[0], (Tokens{42, 42, 42}));
}

TEST(Generate, RefusesAnEmptyPromptAndAcceptsNoPrompts) {
  const nn::Llama model(small());
  EXPECT_NE(test::thrown_by<ValueError>([&] { nn::generate(model, {{1}, {}}); })
                .message()
                .find("prompt 1 has no tokens"),
            std::string::npos);
  EXPECT_TRUE(nn::generate(model, {}).empty());
}

TEST(SampleToken, FollowsTheProbabilitiesAndTopPCutsThem) {
  const Tensor logits = log(tensor({0.5, 0.25, 0.125, 0.125}));
  constexpr int kDraws = 20000;
  for (const auto& [top_p, expected] : std::vector<std::pair<double, std::vector<double>>>{
           {1, {0.5, 0.25, 0.125, 0.125}}, {0.7, {2. / 3, 1. / 3, 0, 0}}, {0.4, {1, 0, 0, 0}}}) {
    std::vector<double> share(4);
    for (int i = 0; i < kDraws; ++i)
      share[static_cast<std::size_t>(
          nn::sample_token(logits, {.temperature = 1, .top_p = top_p, .seed = 9}, i))] += 1. / kDraws;
    for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(share[i], expected[i], 0.015) << "top_p " << top_p;
  }
}

TEST(SampleToken, IsAFunctionOfSeedAndPosition) {
  const Tensor logits = randn({1000});
  const nn::Sampling sampling{.temperature = 1, .seed = 11};
  int differ = 0;
  for (int position = 0; position < 50; ++position) {
    EXPECT_EQ(nn::sample_token(logits, sampling, position),
              nn::sample_token(logits.to(kF32), sampling, position));
    differ +=
        nn::sample_token(logits, sampling, position) != nn::sample_token(logits, sampling, position + 1);
  }
  EXPECT_GT(differ, 40);
}

TEST(SampleToken, RefusesInvalidOptions) {
  const Tensor logits = zeros({4});
  EXPECT_NE(test::thrown_by<ValueError>([&] { nn::sample_token(logits, {.temperature = -1}, 0); })
                .message()
                .find("must not be negative"),
            std::string::npos);
  EXPECT_NE(test::thrown_by<ValueError>([&] { nn::sample_token(logits, {.temperature = 1, .top_p = 0}, 0); })
                .message()
                .find("top_p"),
            std::string::npos);
  EXPECT_NE(
      test::thrown_by<ShapeError>([&] { nn::sample_token(zeros({2, 4}), {}, 0); }).message().find("one axis"),
      std::string::npos);
}

TEST(CompiledLlama, HasTheBitsOfTheModelWithTwoGraphs) {
  manual_seed(6);
  nn::LlamaConfig config = small();
  config.context = 300;  // so that caches grow and more keys are attended to on the way
  nn::Llama model(config);
  for (const DType dtype : {kF32, kBF16}) {
    model.to(dtype);
    const nn::CompiledLlama fast(model);
    for (const std::vector<Tokens>& prompts : {kPrompts, {kPrompts[1]}, {kPrompts[2], kPrompts[0]}}) {
      nn::GenerateOptions options;
      options.max_tokens = prompts.size() == 1 ? 200 : 30;
      options.sampling = {.temperature = 1.5, .seed = 8};
      options.stops = {3};
      const Written expected = write_on(model, prompts, options), actual = write_on(fast, prompts, options);
      EXPECT_EQ(actual.texts, expected.texts);
      EXPECT_EQ(actual.logits, expected.logits);
    }
    EXPECT_EQ(fast.compiles(), 2u);
  }
}

TEST(CompiledLlama, ContinuesWithSeveralTokensToTheEndOfTheContext) {
  manual_seed(7);
  nn::LlamaConfig config = small();
  config.context = 200;
  const nn::Llama model(config);
  const nn::CompiledLlama fast(model, {.verifies_host_code = true});
  const InferenceMode inference;
  nn::KVCaches caches = model.make_caches(), fast_caches = fast.make_caches();
  for (const std::int64_t tokens : {3, 1, 1, 60, 7, 1, 55, 1, 71}) {
    // A part of a longer text has other strides.
    const Tensor text = randint(0, config.vocabulary, {2, tokens + 1}).narrow(1, tokens % 2, tokens);
    EXPECT_EQ(test::bytes_of(fast.next_logits(text, fast_caches)),
              test::bytes_of(model.next_logits(text, caches)))
        << tokens << " tokens";
  }
  EXPECT_EQ(fast_caches.front().length(), config.context);
  EXPECT_EQ(fast.compiles(), 2u);
  EXPECT_THROW(fast.next_logits(randint(0, 9, {2, 1}), fast_caches), ValueError);
  const std::int64_t counts[] = {1, 1, 1};
  nn::KVCaches fresh = fast.make_caches();
  EXPECT_THROW(fast.next_logits(randint(0, 9, {2, 1}), fresh, {counts, 3}), ShapeError);
  fast_caches.pop_back();
  EXPECT_THROW(fast.next_logits(randint(0, 9, {2, 1}), fast_caches), ValueError);
}

TEST(CompiledLlama, CastsAsTheModelDoes) {
  manual_seed(9);
  const nn::Llama model(small());
  const nn::CompiledLlama fast(model);
  const Autocast autocast(kBF16);
  const Written expected = write_on(model, kPrompts, {.max_tokens = 5});
  const Written actual = write_on(fast, kPrompts, {.max_tokens = 5});
  EXPECT_EQ(actual.texts, expected.texts);
  EXPECT_EQ(actual.logits, expected.logits);
}

// The caches of a model and of its compiled form are the same.
TEST(CompiledLlama, TakesTurnsWithTheModel) {
  manual_seed(8);
  const nn::Llama model(small());
  const nn::CompiledLlama fast(model);
  const InferenceMode inference;
  nn::KVCaches mixed = model.make_caches(), alone = model.make_caches();
  for (int turn = 0; turn < 8; ++turn) {
    const Tensor text = randint(0, 100, {2, turn == 0 ? 4 : 1});
    const std::int64_t first[] = {4, 2}, next[] = {1, 1};
    const ArrayView<std::int64_t> counts(turn == 0 ? first : next, 2);
    const Tensor expected = model.next_logits(text, alone, counts);
    const Tensor actual =
        turn % 2 == 0 ? model.next_logits(text, mixed, counts) : fast.next_logits(text, mixed, counts);
    EXPECT_EQ(test::bytes_of(actual), test::bytes_of(expected)) << turn;
  }
}

}  // namespace
}  // namespace pel
