#include <gtest/gtest.h>

#include "pellucid/error.h"

#include "io/tokenizer_model.h"

namespace pel::io {
namespace {

using Ids = std::vector<std::int64_t>;

const std::vector<std::string> kTokens = {"[PAD]", "[UNK]", "[CLS]",  "[SEP]", "the", "cat",  "##s",
                                          "un",    "##aff", "##able", ",",     "!",   "cafe", "中",
                                          "'",     "ss",    "i",      "$",     ".",   "##a"};

Tokenizer tiny() {
  Vocabulary vocabulary;
  vocabulary.origin = "tiny";
  vocabulary.tokens = kTokens;
  vocabulary.kinds.assign(kTokens.size(), TokenKind::Normal);
  for (int id = 0; id < 4; ++id) vocabulary.kinds[id] = TokenKind::Control;
  vocabulary.before = {2};
  vocabulary.after = {3};
  return Tokenizer(make_wordpiece(std::move(vocabulary)));
}

TEST(WordPiece, TakesTheLongestPieceEachTime) {
  const std::pair<std::string, Ids> cases[] = {
      {"", {}},
      {"the cats", {4, 5, 6}},
      {"unaffable", {7, 8, 9}},
      {"THE Cat,the!", {4, 5, 10, 4, 11}},
      {"unknown the", {1, 4}},  // one piece is missing: the whole word is unknown
      {"caf\u00e9 cafe\u0301 CAF\u00c9", {12, 12, 12}},
      {"the\u4e2dcat", {4, 13, 5}},
      {"the\xc2\xa0"
       "cat\u3000the\tcat\r\n",
       {4, 5, 4, 5}},
      {"t\u200dh\ue000"
       "e\x01 \x7f\ufffd",
       {4}},             // removed: joiners, private use, controls
      {"t\xffhe", {4}},  // an invalid byte becomes U+FFFD, which is removed
      {"\u0130", {16}},
      {"$", {17}},
      {"the[SEP]cat", {4, 3, 5}},
      {"the [sep]", {4, 1, 1, 1}},
  };
  const Tokenizer tokenizer = tiny();
  for (const auto& [text, expected] : cases) {
    EXPECT_EQ(tokenizer.encode(text, SpecialTokens::No), expected) << text;
  }
  EXPECT_EQ(tokenizer.encode("the cat"), (Ids{2, 4, 5, 3}));
}

TEST(WordPiece, WordsOfMoreThanAHundredCharactersAreUnknown) {
  const Tokenizer tokenizer = tiny();
  EXPECT_EQ(tokenizer.encode("i" + std::string(99, 'a'), SpecialTokens::No).size(), 100u);
  EXPECT_EQ(tokenizer.encode("i" + std::string(100, 'a'), SpecialTokens::No), Ids{1});
  EXPECT_EQ(tokenizer.encode(std::string(1'000'000, 'a'), SpecialTokens::No), Ids{1});
}

TEST(WordPiece, DecodesWithUsualSpacing) {
  const Tokenizer tokenizer = tiny();
  EXPECT_EQ(tokenizer.decode({2, 4, 5, 6, 10, 7, 8, 9, 11, 3}), "the cats, unaffable!");
  EXPECT_EQ(tokenizer.decode({2, 4, 3}, SpecialTokens::Yes), "[CLS] the [SEP]");
  EXPECT_EQ(tokenizer.decode({6, 5}), "##s cat");  // at the beginning there is no word to continue
  EXPECT_EQ(tokenizer.decode({}), "");
  EXPECT_EQ(tokenizer.bytes_of(6), "s");
  EXPECT_EQ(tokenizer.bytes_of(5), " cat");
}

TEST(WordPiece, FindsTokensAndIds) {
  const Tokenizer tokenizer = tiny();
  EXPECT_EQ(tokenizer.size(), static_cast<std::int64_t>(kTokens.size()));
  EXPECT_EQ(tokenizer.id_of("##aff"), 8);
  EXPECT_EQ(tokenizer.id_of("dog"), std::nullopt);
  EXPECT_EQ(tokenizer.token(9), "##able");
  EXPECT_TRUE(tokenizer.is_special(2));
  EXPECT_FALSE(tokenizer.is_special(4));
  EXPECT_THROW(tokenizer.token(-1), IndexError);
  EXPECT_THROW(tokenizer.bytes_of(20), IndexError);
  EXPECT_THROW(tokenizer.decode({4, 1'000'000'000'000}), IndexError);
}

TEST(WordPiece, NeedsAnUnknownToken) {
  Vocabulary vocabulary;
  vocabulary.origin = "vocab.txt";
  vocabulary.tokens = {"a", "b"};
  EXPECT_THROW(make_wordpiece(vocabulary), FileError);
}

}  // namespace
}  // namespace pel::io
