#include <gtest/gtest.h>

#include "pellucid/error.h"

#include "io/tokenizer_model.h"
#include "tokenizer/tiny_bytes.h"

namespace pel::io {
namespace {

using Ids = std::vector<std::int64_t>;

std::vector<std::string> words_of(std::string_view pattern, std::string_view text) {
  std::vector<std::string> words;
  split_words(word_pattern(pattern, "test"), text, [&](std::string_view word) { words.emplace_back(word); });
  return words;
}

TEST(SplitWords, FollowsThePatternsOfTheModels) {
  struct Case {
    std::string_view pattern, text;
    std::vector<std::string> words;
  };
  const Case cases[] = {
      {"gpt-2", "", {}},
      {"gpt-2", "Hello world", {"Hello", " world"}},
      {"gpt-2", "it's 'S we'll'd", {"it", "'s", " '", "S", " we", "'ll", "'d"}},
      {"gpt-2", "a  b\n\nc ", {"a", " ", " b", "\n", "\n", "c", " "}},
      {"gpt-2", "x  ", {"x", "  "}},
      {"gpt-2", " 12ab!?", {" 12", "ab", "!?"}},
      {"gpt-2", "\xc2\xa0x \xc2\xa0", {"\xc2\xa0", "x", " \xc2\xa0"}},
      {"gpt-2", "e\u0301", {"e", "\u0301"}},  // a mark is not a letter
      {"gpt-2", "'''s", {"'''", "s"}},
      {"smollm", "a 12b", {"a", " ", "1", "2", "b"}},
      {"smollm", "\n\n1", {"\n\n", "1"}},
      {"smollm", " \u00bd", {" ", "\u00bd"}},
      {"llama-bpe", "It'S 12345", {"It", "'S", " ", "123", "45"}},
      {"llama-bpe", "a\n\n b", {"a", "\n\n", " b"}},
      {"llama-bpe", "!\n\n$x (y)", {"!\n\n", "$x", " (", "y", ")"}},
      {"llama-bpe", "a \n  \n   b", {"a", " \n  \n", "  ", " b"}},
      {"llama-bpe", "\tx'\u017fy", {"\tx", "'\u017f", "y"}},
      {"qwen2", "x 12", {"x", " ", "1", "2"}},
  };
  for (const Case& each : cases) {
    EXPECT_EQ(words_of(each.pattern, each.text), each.words) << each.pattern << ": " << each.text;
  }
}

TEST(SplitWords, NamesTheSupportedPatterns) {
  try {
    word_pattern("tekken", "model.gguf");
    FAIL();
  } catch (const FileError& error) {
    EXPECT_EQ(
        error.message(),
        "model.gguf: words are split by the unknown pattern \"tekken\"; supported are \"gpt-2\" \"smollm\" "
        "\"llama-bpe\" \"qwen2\"");
  }
}

// Bytes are ids 0 to 255, in order.
TEST(BytePairs, MergesByRankAndFromTheLeft) {
  enum { kBc = 256, kAb, kAbc, kAa, kSpaceA };
  const Tokenizer tokenizer(make_byte_pairs(tiny_bytes({"b c", "a b", "a bc", "a a", "Ġ a"})));
  const std::pair<std::string, Ids> cases[] = {
      {"", {}},
      {"abc", {kAbc}},  // bc first, then a + bc: ab never forms
      {"ab", {kAb}},
      {"aaa", {kAa, 'a'}},
      {"aaaa", {kAa, kAa}},
      {"ababc", {kAb, kAbc}},
      {" a a", {kSpaceA, kSpaceA}},
      {"\n\xc3\xa9", {'\n', 0xc3, 0xa9}},
      {"\xff", {0xef, 0xbf, 0xbd}},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(tokenizer.encode(text), expected) << text;
}

TEST(BytePairs, ReturnsTheBytesOfTheText) {
  const Tokenizer tokenizer(make_byte_pairs(tiny_bytes({"t h", "th e", "Ġ the", "Ã ©"})));
  for (const std::string text : {"the caf\u00e9 then", " \n\t\r", "\U0001f469\u200d\U0001f680", "\x01\x7f"}) {
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), text);
  }
  const Ids ids = tokenizer.encode("\U0001f600");
  EXPECT_EQ(tokenizer.decode(ArrayView<std::int64_t>(ids.data(), 3)), "\xef\xbf\xbd");
  EXPECT_EQ(tokenizer.bytes_of(ids[0]), "\xf0");
}

TEST(BytePairs, MergesAWordOfAMillionBytesInLinearithmicTime) {
  const Tokenizer tokenizer(make_byte_pairs(tiny_bytes({"a a", "aa aa", "aaaa aaaa", "Ġ Ġ"})));
  EXPECT_EQ(tokenizer.encode(std::string(1'000'000, 'a')).size(), 125'000u);
  EXPECT_EQ(tokenizer.encode(std::string(1'000'000, ' ')).size(), 500'000u);
  std::string spaces(1'000'000, ' ');
  spaces += "b";
  EXPECT_EQ(tokenizer.encode(spaces).size(), 500'002u);
}

TEST(BytePairs, SkipsBytesThatAreNotTokens) {
  Vocabulary vocabulary;
  vocabulary.origin = "tiny";
  vocabulary.tokens = {"a", "b", "ab"};
  vocabulary.merges = {"a b"};
  const Tokenizer tokenizer(make_byte_pairs(std::move(vocabulary)));
  EXPECT_EQ(tokenizer.encode("azb"), Ids{2});
  EXPECT_EQ(tokenizer.encode("zz"), Ids{});
}

TEST(BytePairs, FindsSpecialTokensLongestFirst) {
  Vocabulary vocabulary = tiny_bytes({"a b"});
  for (const char* token : {"<|x|>", "<|x|>y", "two words"}) vocabulary.tokens.emplace_back(token);
  vocabulary.kinds.assign(vocabulary.tokens.size(), TokenKind::Normal);
  vocabulary.kinds[257] = vocabulary.kinds[258] = TokenKind::Control;
  vocabulary.kinds[259] = TokenKind::Literal;
  vocabulary.before = {257};
  vocabulary.end_of_text = 258;
  const Tokenizer tokenizer(make_byte_pairs(std::move(vocabulary)));
  EXPECT_EQ(tokenizer.encode("ab<|x|>ab<|x|>y<|x|", SpecialTokens::No),
            (Ids{256, 257, 256, 258, '<', '|', 'x', '|'}));
  EXPECT_EQ(tokenizer.encode("two words"), (Ids{257, 259}));
  EXPECT_EQ(tokenizer.decode({257, 'a', 259, 258}), "atwo words");
  EXPECT_EQ(tokenizer.decode({257, 'a'}, SpecialTokens::Yes), "<|x|>a");
  EXPECT_EQ(tokenizer.end_of_text(), 258);
}

}  // namespace
}  // namespace pel::io
