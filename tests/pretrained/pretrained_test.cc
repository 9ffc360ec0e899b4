// Compares real weights with PyTorch. Its results are in files that ./dev test writes if the packages with
// the weights are installed.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "pellucid/pellucid.h"

#include "saved/decode_step.h"
#include "saved/generate_tokens.h"
#include "support/answers.h"
#include "support/bytes.h"
#include "support/explanation_page.h"

namespace pel {
namespace {

using Tokens = std::vector<std::int64_t>;

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}
Tokens tokens_of(const Tensor& t) {
  const auto* begin = t.data<const std::int64_t>();
  return {begin, begin + t.numel().value()};
}

TEST(MiniLm, EmbeddingsAreThoseOfPyTorch) {
  const std::vector<std::string> sentences = lines_of(test::answer_file("sentences.txt"));
  if (sentences.empty()) GTEST_SKIP() << test::kNoAnswers;
  const std::string folder = lines_of(test::answer_file("minilm.path")).at(0);
  const Tensor expected =
      io::SafetensorsFile(test::answer_file("embeddings.safetensors")).tensor("embeddings");
  ASSERT_EQ(sentences.size(), 100u);
  const auto words = io::Tokenizer::wordpiece(folder + "/vocab.txt");
  const auto model = io::load_bert(io::SafetensorsFile(folder + "/model.safetensors"));
  const InferenceMode inference;
  double worst = 0;
  for (std::size_t i = 0; i < sentences.size(); ++i) {
    const Tokens ids = words.encode(sentences[i]);
    const Tensor states = (*model)(from_data(ids, {1, static_cast<std::int64_t>(ids.size())}));
    const Tensor mean_state = mean(states, {1}).select(0, 0), embedding = mean_state / norm(mean_state);
    worst = std::max(
        worst, amax(abs(embedding - expected.select(0, static_cast<std::int64_t>(i)))).item().to_double());
  }
  EXPECT_LE(worst, 1e-5);
  std::printf("worst difference of 100 embeddings: %.2g\n", worst);
}

// Returns sentences padded to the longest one, and the mask of their own tokens.
std::pair<Tensor, Tensor> batch_of(const io::Tokenizer& words, ArrayView<std::string> sentences) {
  std::vector<Tokens> rows;
  std::size_t longest = 0;
  for (const std::string& sentence : sentences) {
    rows.push_back(words.encode(sentence));
    longest = std::max(longest, rows.back().size());
  }
  Tokens flat, counts;
  for (const Tokens& row : rows) {
    flat.insert(flat.end(), row.begin(), row.end());
    flat.insert(flat.end(), longest - row.size(), 0);
    counts.push_back(static_cast<std::int64_t>(row.size()));
  }
  const auto batch = static_cast<std::int64_t>(rows.size()), width = static_cast<std::int64_t>(longest);
  return {from_data(flat, {batch, width}), lt(arange(width), from_data(counts, {batch, 1}))};
}

TEST(MiniLm, CompiledOnceItHasTheSameBitsForAllLengthsAndBatches) {
  const std::vector<std::string> sentences = lines_of(test::answer_file("sentences.txt"));
  if (sentences.empty()) GTEST_SKIP() << test::kNoAnswers;
  const std::string folder = lines_of(test::answer_file("minilm.path")).at(0);
  const auto words = io::Tokenizer::wordpiece(folder + "/vocab.txt");
  const auto model = io::load_bert(io::SafetensorsFile(folder + "/model.safetensors"));
  const auto fast = compile(*model);
  const auto fast_masked = compile(*model);
  const InferenceMode inference;
  std::size_t next = 0;
  for (const std::size_t batch : {3, 1, 8, 2, 5, 1, 16, 4}) {
    const auto [tokens, mask] = batch_of(words, {sentences.data() + next, batch});
    next += batch;
    EXPECT_EQ(test::bytes_of(fast(tokens)), test::bytes_of((*model)(tokens))) << batch;
    EXPECT_EQ(test::bytes_of(fast_masked(tokens, mask)), test::bytes_of((*model)(tokens, mask))) << batch;
  }
  EXPECT_EQ(fast.compiles(), 1u);
  EXPECT_EQ(fast_masked.compiles(), 1u);
}

bool has_smollm2() { return test::has_answers("greedy.safetensors"); }
std::string smollm2_path() { return lines_of(test::answer_file("smollm2.path")).at(0); }

TEST(SmolLm2, AnswersLikeTransformers) {
  if (!has_smollm2()) GTEST_SKIP() << test::kNoAnswers;
  const io::GgufFile file(smollm2_path());
  const auto words = io::Tokenizer::from_gguf(file);
  const auto model = io::load_llama(file);
  const io::SafetensorsFile answers(test::answer_file("greedy.safetensors"));
  std::vector<Tokens> prompts, expected;
  for (int i = 0; answers.has("prompt." + std::to_string(i)); ++i) {
    prompts.push_back(tokens_of(answers.tensor("prompt." + std::to_string(i))));
    expected.push_back(tokens_of(answers.tensor("answer." + std::to_string(i))));
    const std::vector<std::string> text = lines_of(test::answer_file("prompt." + std::to_string(i) + ".txt"));
    const io::ChatMessage message{"user", text.at(0)};
    EXPECT_EQ(words.encode(words.chat_prompt({&message, 1})), prompts.back()) << text[0];
  }
  ASSERT_GE(prompts.size(), 5u);
  for (std::size_t i = 0; i < prompts.size(); ++i)
    EXPECT_EQ(nn::generate(*model, {prompts[i]}, {.max_tokens = 64})[0], expected[i])
        << words.decode(prompts[i]) << words.decode(expected[i]);
}

TEST(SmolLm2, APromptHasTheSameBitsAloneAndInABatchOfSeven) {
  if (!has_smollm2()) GTEST_SKIP() << test::kNoAnswers;
  const auto model = io::load_llama(io::GgufFile(smollm2_path()));
  const io::SafetensorsFile answers(test::answer_file("greedy.safetensors"));
  std::vector<Tokens> prompts;
  for (int i = 0; i < 7; ++i) prompts.push_back(tokens_of(answers.tensor("prompt." + std::to_string(i))));
  const auto run = [&](const std::vector<Tokens>& batch, std::size_t wanted) {
    std::vector<std::vector<char>> logits;
    nn::GenerateOptions options;
    options.on_logits = [&](std::size_t prompt, const Tensor& row) {
      if (prompt == wanted) logits.push_back(test::bytes_of(row));
    };
    return std::pair(nn::generate(*model, batch, options)[wanted], logits);
  };
  for (const std::size_t wanted : {0, 6}) {
    const auto [alone_tokens, alone_logits] = run({prompts[wanted]}, 0);
    const auto [batch_tokens, batch_logits] = run(prompts, wanted);
    EXPECT_EQ(alone_tokens, batch_tokens);
    EXPECT_EQ(alone_logits, batch_logits);
    EXPECT_EQ(alone_tokens.size(), 64u);
  }
}

// Alone and in a batch, from the first token of the prompt to the last of the answer.
TEST(SmolLm2, CompiledItHasTheSameBitsWithOneGraphForPromptsAndOneForTokens) {
  if (!has_smollm2()) GTEST_SKIP() << test::kNoAnswers;
  const auto model = io::load_llama(io::GgufFile(smollm2_path()));
  const nn::CompiledLlama fast(*model);
  const io::SafetensorsFile answers(test::answer_file("greedy.safetensors"));
  std::vector<Tokens> prompts, expected;
  for (int i = 0; i < 3; ++i) {
    prompts.push_back(tokens_of(answers.tensor("prompt." + std::to_string(i))));
    expected.push_back(tokens_of(answers.tensor("answer." + std::to_string(i))));
  }
  using Logits = std::vector<std::vector<std::vector<char>>>;
  const auto run = [&](const auto& by, const std::vector<Tokens>& batch) {
    Logits logits(batch.size());
    nn::GenerateOptions options;
    options.on_logits = [&](std::size_t prompt, const Tensor& row) {
      logits[prompt].push_back(test::bytes_of(row));
    };
    return std::pair(nn::generate(by, batch, options), logits);
  };
  for (const std::vector<Tokens>& batch : {prompts, {prompts[1]}}) {
    const auto [wanted, wanted_logits] = run(*model, batch);
    const auto [actual, actual_logits] = run(fast, batch);
    EXPECT_EQ(actual, wanted);
    EXPECT_EQ(actual_logits, wanted_logits);
    EXPECT_EQ(actual.back(), expected[batch.size() == 1 ? 1 : 2]);
  }
  EXPECT_EQ(fast.compiles(), 2u);
}

// The weights in f32 on OpenCL: no op falls back to the CPU.
TEST(SmolLm2, OnOpenClItHasTheTokensAndBitsOfTheCpu) {
  if (!has_smollm2()) GTEST_SKIP() << test::kNoAnswers;
  const std::vector<DeviceInfo> all = devices();
  const auto opencl = std::ranges::find(all, kOpenCl, &DeviceInfo::device);
  if (opencl == all.end()) GTEST_SKIP() << "the library was built without OpenCL's headers";
  if (!opencl->refusal.empty()) GTEST_SKIP() << opencl->refusal;
  const auto model = io::load_llama(io::GgufFile(smollm2_path()));
  nn::Llama on_device(model->config());
  {
    std::vector<NamedTensor> moved;
    for (const NamedTensor& each : model->named_parameters())
      moved.push_back({each.path, each.tensor.to(kOpenCl)});
    on_device.adopt(moved);
  }
  const io::SafetensorsFile answers(test::answer_file("greedy.safetensors"));
  const Tokens prompt = tokens_of(answers.tensor("prompt.0"));
  const auto run = [&](const nn::Llama& by) {
    std::vector<std::vector<char>> logits;
    nn::GenerateOptions options{.max_tokens = 8};
    options.on_logits = [&](std::size_t, const Tensor& row) { logits.push_back(test::bytes_of(row)); };
    const Tokens tokens = nn::generate(by, {prompt}, options)[0];
    return std::pair(tokens, logits);
  };
  const auto [wanted, wanted_logits] = run(*model);
  reset_device_stats(kOpenCl);
  const auto began = std::chrono::steady_clock::now();
  const auto [given, given_logits] = run(on_device);
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - began;
  fmt::print("{} tokens after {} in {:.1f} s\n", given.size(), prompt.size(), time.count());
  const Tokens answer = tokens_of(answers.tensor("answer.0"));
  EXPECT_EQ(wanted, Tokens(answer.begin(), answer.begin() + 8));
  EXPECT_EQ(given, wanted);
  EXPECT_EQ(given_logits, wanted_logits);
  EXPECT_TRUE(device_fallbacks(kOpenCl).empty()) << device_fallbacks(kOpenCl)[0].op;
}

// One graph and one file for the prompt and the answer, token by token.
TEST(SmolLm2, ASavedDecodeStepGeneratesTheSameTokens) {
  if (!has_smollm2()) GTEST_SKIP() << test::kNoAnswers;
  const std::string path =
      (std::filesystem::path(testing::TempDir()) / fmt::format("smollm2_{}.pel", ::getpid())).string();
  const io::SafetensorsFile answers(test::answer_file("greedy.safetensors"));
  const Tokens prompt = tokens_of(answers.tensor("prompt.0"));
  test::CacheSizes sizes;
  {
    const NoGrad no_grad;
    const auto model = io::load_llama(io::GgufFile(smollm2_path()));
    const nn::LlamaConfig& config = model->config();
    sizes = {config.layers, config.kv_heads, config.width / config.heads, 256};
    const auto fast = compile(test::decode_step(*model));
    test::generate_tokens([&](const std::vector<Tensor>& in) { return fast(in); }, prompt, 1, sizes);
    EXPECT_EQ(fast.compiles(), 1u);
    fast.save(path);
  }
  const LoadedFunction loaded = load_compiled(path);
  const Tokens expected = tokens_of(answers.tensor("answer.0"));
  EXPECT_EQ(test::generate_tokens([&](const std::vector<Tensor>& in) { return loaded(in); }, prompt,
                                  expected.size(), sizes),
            expected);
  std::filesystem::remove(path);
}

// docs/explanations/smollm2.html: one more token, with 40 in the caches.
TEST(SmolLm2, ThePageOfItsExplanationIsCurrent) {
  if (!has_smollm2()) GTEST_SKIP() << test::kNoAnswers;
  const auto model = io::load_llama(io::GgufFile(smollm2_path()));
  const nn::CompiledLlama fast(*model);
  Tokens prompt(40);
  std::iota(prompt.begin(), prompt.end(), 1000);
  nn::generate(fast, {prompt}, {.max_tokens = 4});  // weights are packed
  Profile profile;
  nn::generate(fast, {prompt}, {.max_tokens = 12});
  CompileExplanation explanation = fast.explain();
  explanation.add_times(profile);
  ASSERT_EQ(explanation.graphs.size(), 2u);
  explanation.graphs.erase(explanation.graphs.begin());  // that of prompts
  EXPECT_GE(explanation.graphs[0].measured_calls, 5) << explanation.graphs[0].not_measured;
  test::expect_explanation("smollm2.html", explanation.html("SmolLM2-135M, one token"), "SmolLm2");
}

}  // namespace
}  // namespace pel
