// Real weights against PyTorch. Its answers are in files that ./dev test writes where the packages with the
// weights are installed.
#include <cstdlib>
#include <fstream>

#include <gtest/gtest.h>

#include "pellucid/pellucid.h"

#include "support/answers.h"
#include "support/bytes.h"

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

bool has_smollm2() { return test::has_answers("greedy.safetensors"); }
std::string smollm2_path() { return lines_of(test::answer_file("smollm2.path")).at(0); }

TEST(SmolLm2, SaysWhatTransformersSays) {
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
    EXPECT_EQ(nn::generate(*model, {prompts[i]}, {.most_tokens = 64})[0], expected[i])
        << words.decode(prompts[i]) << words.decode(expected[i]);
}

TEST(SmolLm2, APromptAloneAndInABatchOfSevenGivesTheSameBits) {
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

}  // namespace
}  // namespace pel
