// Tokenizers from valid and invalid files.
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "io/tokenizer_model.h"
#include "support/errors.h"
#include "support/weight_files.h"
#include "tokenizer/tiny_bytes.h"

namespace pel::io {
namespace {

using Ids = std::vector<std::int64_t>;
using test::GgufBytes;
using test::GgufKind;
using test::thrown_by;

class TokenizerFiles : public testing::Test {
 protected:
  std::string write(const std::string& name, std::string_view content) {
    const std::string path = (folder_ / name).string();
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) /
              (std::string("pellucid_") + testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

 private:
  std::filesystem::path folder_;
};

std::string gguf_texts(const std::vector<std::string>& texts) {
  std::string values;
  for (const std::string& text : texts) values += test::gguf_string(text);
  return test::gguf_list(GgufKind::String, texts.size(), values);
}

std::string gguf_types(const std::vector<std::int32_t>& types) {
  std::string values;
  for (const std::int32_t type : types) values += test::raw(type);
  return test::gguf_list(GgufKind::I32, types.size(), values);
}

GgufBytes gguf(std::string_view model, const std::vector<std::string>& tokens,
               const std::vector<std::int32_t>& types) {
  GgufBytes bytes;
  bytes.key("tokenizer.ggml.model", GgufKind::String, test::gguf_string(model))
      .key("tokenizer.ggml.tokens", GgufKind::List, gguf_texts(tokens))
      .key("tokenizer.ggml.token_type", GgufKind::List, gguf_types(types));
  return bytes;
}

Tokenizer read(const GgufBytes& bytes) {
  const std::string file = bytes.file();
  return Tokenizer::from_gguf(GgufFile::from_memory(file));
}

std::string error_of(const GgufBytes& bytes) {
  return thrown_by<FileError>([&] { read(bytes); }).message();
}

TEST_F(TokenizerFiles, ReadsAVocabularyOfLines) {
  const Tokenizer tokenizer =
      Tokenizer::wordpiece(write("vocab.txt", "[PAD]\r\n[UNK]\n[CLS]\n[SEP]\nhello\n##s\nworld"));
  EXPECT_EQ(tokenizer.size(), 7);
  EXPECT_EQ(tokenizer.encode("Hellos World"), (Ids{2, 4, 5, 6, 3}));
}

TEST_F(TokenizerFiles, ReadsGpt2) {
  const std::string vocabulary =
      write("encoder.json", R"({"a": 0, "b": 1, "\u0120": 2, "ab": 3, "<|endoftext|>": 4})");
  const Tokenizer tokenizer = Tokenizer::byte_pairs(vocabulary, write("vocab.bpe", "#version: 0.2\na b\n"));
  EXPECT_EQ(tokenizer.encode("ab ba<|endoftext|>"), (Ids{3, 2, 1, 0, 4}));
  EXPECT_EQ(tokenizer.end_of_text(), 4);
}

TEST_F(TokenizerFiles, RefusesInvalidFiles) {
  const auto wordpiece = [&](std::string_view content) {
    return thrown_by<FileError>([&] { Tokenizer::wordpiece(write("vocab.txt", content)); }).message();
  };
  EXPECT_NE(wordpiece("").find("[UNK]"), std::string::npos);
  EXPECT_NE(wordpiece("[UNK]\na\nb\na\n").find("tokens 1 and 3 are both \"a\""), std::string::npos);
  EXPECT_THROW(Tokenizer::wordpiece("/nowhere/vocab.txt"), FileError);

  const auto byte_pairs = [&](std::string_view vocabulary, std::string_view merges) {
    const std::string path = write("encoder.json", vocabulary);
    return thrown_by<FileError>([&] { Tokenizer::byte_pairs(path, write("vocab.bpe", merges)); }).message();
  };
  EXPECT_NE(byte_pairs("{", "").find("is not valid JSON"), std::string::npos);
  EXPECT_NE(byte_pairs("[]", "").find("must be a JSON object"), std::string::npos);
  EXPECT_NE(byte_pairs("{}", "").find("no tokens"), std::string::npos);
  EXPECT_NE(byte_pairs(R"({"a": 1})", "").find("the id of \"a\""), std::string::npos);
  EXPECT_NE(byte_pairs(R"({"a": -1})", "").find("the id of \"a\""), std::string::npos);
  EXPECT_NE(byte_pairs(R"({"a": 0, "b": 0})", "").find("the id of \"b\""), std::string::npos);
  EXPECT_NE(byte_pairs(R"({"a": 0, "a": 1})", "").find("are both \"a\""), std::string::npos);
  EXPECT_NE(byte_pairs(R"({"a": 0, "b": 1})", "a b\n").find("\"ab\" is not a token"), std::string::npos);
  EXPECT_NE(byte_pairs(R"({"a": 0, "aa": 1})", "a a\na a\n").find("merges 0 and 1"), std::string::npos);
  for (const std::string_view merge : {"aa\n", "a a a\n", "\n"}) {
    EXPECT_NE(byte_pairs(R"({"a": 0, "aa": 1})", merge).find("not two tokens"), std::string::npos) << merge;
  }
}

TEST_F(TokenizerFiles, ReadsGgufOfBytePairs) {
  Vocabulary tiny = tiny_bytes({"h i"});
  std::vector<std::int32_t> types(tiny.tokens.size(), 1);
  for (const char* token : {"<|im_start|>", "<|im_end|>"})
    tiny.tokens.emplace_back(token), types.push_back(3);
  tiny.tokens.emplace_back("two words"), types.push_back(4);
  GgufBytes bytes = gguf("gpt2", tiny.tokens, types);
  bytes.key("tokenizer.ggml.merges", GgufKind::List, gguf_texts(tiny.merges))
      .key("tokenizer.ggml.pre", GgufKind::String, test::gguf_string("smollm"))
      .key("tokenizer.ggml.bos_token_id", GgufKind::U32, test::raw(std::uint32_t{257}))
      .key("tokenizer.ggml.eos_token_id", GgufKind::U32, test::raw(std::uint32_t{258}))
      .key("tokenizer.ggml.add_bos_token", GgufKind::Bool, test::raw(std::uint8_t{1}))
      .key("tokenizer.chat_template", GgufKind::String,
           test::gguf_string("{{ '<|im_start|>system\nBe kind.<|im_end|>\n' }}{{ '<|im_start|>' + role }}"));
  const Tokenizer tokenizer = read(bytes);
  EXPECT_EQ(tokenizer.encode("hi<|im_end|>two words12"), (Ids{257, 256, 258, 259, '1', '2'}));
  EXPECT_EQ(tokenizer.encode("hi", SpecialTokens::No), Ids{256});
  EXPECT_EQ(tokenizer.decode({257, 256, 258, 259}), "hitwo words");
  EXPECT_EQ(tokenizer.end_of_text(), 258);
  EXPECT_EQ(
      tokenizer.chat_prompt({{"user", "hi"}}),
      "<|im_start|>system\nBe kind.<|im_end|>\n<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n");
  EXPECT_EQ(
      tokenizer.chat_prompt({{"system", "Be brief."}, {"user", "hi"}}),
      "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n");
  EXPECT_THROW(tokenizer.chat_prompt({}), ValueError);
}

TEST_F(TokenizerFiles, ReadsGgufOfBert) {
  GgufBytes bytes =
      gguf("bert", {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "\u2581un", "able", "\u2581[", "\u2581]"},
           {3, 2, 3, 3, 1, 1, 1, 1});
  bytes.key("tokenizer.ggml.bos_token_id", GgufKind::U32, test::raw(std::uint32_t{2}))
      .key("tokenizer.ggml.seperator_token_id", GgufKind::U32, test::raw(std::uint32_t{3}));
  const Tokenizer tokenizer = read(bytes);
  EXPECT_EQ(tokenizer.encode("Unable [un] x"), (Ids{2, 4, 5, 6, 4, 7, 1, 3}));
  EXPECT_EQ(tokenizer.decode({2, 4, 5, 3}), "unable");
}

TEST_F(TokenizerFiles, RefusesInvalidGguf) {
  const auto with_merges = [](GgufBytes bytes, const std::vector<std::string>& merges = {}) {
    return bytes.key("tokenizer.ggml.merges", GgufKind::List, gguf_texts(merges));
  };
  const auto has = [](const std::string& text, std::string_view part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  has(error_of(gguf("llama", {"a"}, {1})), "supported are \"gpt2\" and \"bert\"");
  has(error_of(gguf("gpt2", {"a"}, {1})), "tokenizer.ggml.merges");
  has(error_of(with_merges(gguf("gpt2", {"a", "b"}, {1}))), "2 tokens, but 1 token types");
  has(error_of(with_merges(gguf("gpt2", {"a"}, {1}), {"a b"})), "\"b\" is not a token");
  has(error_of(with_merges(gguf("gpt2", {std::string(2000, 'x')}, {3}))), "at most 128 bytes");
  has(error_of(with_merges(gguf("gpt2", {"a"}, {1}))
                   .key("tokenizer.ggml.pre", GgufKind::String, test::gguf_string("tekken"))),
      "\"smollm\"");
  has(error_of(with_merges(gguf("gpt2", {"a"}, {1}))
                   .key("tokenizer.ggml.eos_token_id", GgufKind::U32, test::raw(std::uint32_t{1}))),
      "is 1, but there are 1 tokens");
  has(error_of(with_merges(gguf("gpt2", {"a"}, {1}))
                   .key("tokenizer.ggml.eos_token_id", GgufKind::String, test::gguf_string("a"))),
      "eos_token_id has a type that is not allowed");
  has(error_of(with_merges(gguf("gpt2", {"a"}, {1}))
                   .key("tokenizer.ggml.add_bos_token", GgufKind::Bool, test::raw(std::uint8_t{1}))),
      "add_bos_token is set");
  EXPECT_THROW(read(with_merges(gguf("gpt2", {}, {}))), FileError);
}

TEST_F(TokenizerFiles, SupportsOnlyChatMl) {
  Vocabulary vocabulary = tiny_bytes({});
  const Tokenizer without(make_byte_pairs(vocabulary));
  EXPECT_THROW(without.chat_prompt({{"user", "hi"}}), ValueError);
  vocabulary.chat_template = "[INST] {{ message }} [/INST]";
  const Tokenizer other(make_byte_pairs(vocabulary));
  const auto error = thrown_by<ValueError>([&] { other.chat_prompt({{"user", "hi"}}); });
  EXPECT_NE(error.message().find("expected a ChatML template"), std::string::npos);
}

}  // namespace
}  // namespace pel::io
