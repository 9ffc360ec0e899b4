// Compares with Hugging Face's tokenizers, id by id, on thousands of strings that write_answers.py generates:
// ./dev test runs it if they are installed. Its comment says which characters are excluded, and why.
#include <cstdlib>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "io/tokenizer_model.h"
#include "support/answers.h"

namespace pel::io {
namespace {

using Fields = std::vector<std::string>;

std::string from_hex(std::string_view hex) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<char>(digit(hex[i]) * 16 + digit(hex[i + 1])));
  }
  return bytes;
}

std::string escaped(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string shown = "\"";
  for (const char c : text.substr(0, 600)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f && c != '"' && c != '\\') {
      shown += c;
    } else {
      (shown += "\\x") += {kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return shown + "\"";
}

std::string listed(const std::vector<std::int64_t>& ids) {
  std::ostringstream text;
  for (std::size_t i = 0; i < std::min<std::size_t>(ids.size(), 80); ++i) text << ids[i] << ' ';
  return text.str();
}

// Returns the lines of NAME.txt; none if it does not exist.
std::vector<Fields> read_lines(const std::string& name) {
  std::vector<Fields> lines;
  std::ifstream file(test::answer_file(name + ".txt"));
  for (std::string line; std::getline(file, line);) {
    Fields fields;
    std::size_t begin = 0;
    for (std::size_t end; (end = line.find('\t', begin)) != std::string::npos; begin = end + 1) {
      fields.push_back(line.substr(begin, end - begin));
    }
    fields.push_back(line.substr(begin));
    lines.push_back(std::move(fields));
  }
  return lines;
}

Fields line_of(const std::vector<Fields>& lines, std::string_view kind) {
  for (const Fields& fields : lines) {
    if (fields[0] == kind) return fields;
  }
  ADD_FAILURE() << "no line " << kind;
  return Fields(8);
}

void compare(const Tokenizer& tokenizer, const std::vector<Fields>& lines) {
  int count = 0, shown = 0;
  for (const Fields& fields : lines) {
    if (fields[0] != "case") continue;
    ASSERT_EQ(fields.size(), 5u);
    ++count;
    const std::string text = from_hex(fields[1]);
    std::vector<std::int64_t> expected;
    std::istringstream ids(fields[2]);
    for (std::int64_t id; ids >> id;) expected.push_back(id);
    const std::vector<std::int64_t> found = tokenizer.encode(text);
    const std::string bare = tokenizer.decode(expected);
    const std::string full = tokenizer.decode(expected, SpecialTokens::Yes);
    if (found == expected && bare == from_hex(fields[3]) && full == from_hex(fields[4])) continue;
    ADD_FAILURE() << "case " << count << ": " << escaped(text) << "\n  ids      " << listed(found)
                  << "\n  expected " << listed(expected) << "\n  decoded  " << escaped(bare)
                  << "\n  expected " << escaped(from_hex(fields[3])) << "\n  with special tokens "
                  << escaped(full) << "\n  expected            " << escaped(from_hex(fields[4]));
    if (++shown == 5) return;
  }
  EXPECT_GE(count, 10'000);
  std::printf("%d strings are equal\n", count - shown);
}

#define PEL_READ_OR_SKIP(lines, name)                 \
  const std::vector<Fields> lines = read_lines(name); \
  if (lines.empty()) GTEST_SKIP() << "no cases of " << name << ": run ./dev setup --peers, then ./dev test"

// Returns the vocabulary of the file with another word pattern.
Tokenizer gpt2_by(const std::vector<Fields>& lines, std::string_view words) {
  const Fields paths = line_of(lines, "vocabulary");
  const Tokenizer plain = Tokenizer::byte_pairs(from_hex(paths[1]), from_hex(paths[2]));
  Vocabulary vocabulary;
  vocabulary.origin = "gpt2";
  vocabulary.words = words;
  for (std::int64_t id = 0; id < plain.size(); ++id) {
    vocabulary.tokens.push_back(plain.token(id));
    vocabulary.kinds.push_back(plain.is_special(id) ? TokenKind::Control : TokenKind::Normal);
  }
  std::ifstream file(from_hex(paths[2]));
  std::string line;
  std::getline(file, line);  // the version
  while (std::getline(file, line)) vocabulary.merges.push_back(line);
  return Tokenizer(make_byte_pairs(std::move(vocabulary)));
}

Tokenizer smollm(const std::vector<Fields>& lines) {
  return Tokenizer::from_gguf(GgufFile(from_hex(line_of(lines, "vocabulary")[1])));
}

TEST(HuggingFace, WordPieceIsEqual) {
  PEL_READ_OR_SKIP(lines, "wordpiece");
  compare(Tokenizer::wordpiece(from_hex(line_of(lines, "vocabulary")[1])), lines);
}

TEST(HuggingFace, Gpt2IsEqual) {
  PEL_READ_OR_SKIP(lines, "gpt2");
  const Fields paths = line_of(lines, "vocabulary");
  compare(Tokenizer::byte_pairs(from_hex(paths[1]), from_hex(paths[2])), lines);
}

TEST(HuggingFace, TheWordsOfLlamaAreEqual) {
  PEL_READ_OR_SKIP(lines, "llama_bpe");
  compare(gpt2_by(lines, "llama-bpe"), lines);
}

TEST(HuggingFace, TheWordsOfQwenAreEqual) {
  PEL_READ_OR_SKIP(lines, "qwen2");
  compare(gpt2_by(lines, "qwen2"), lines);
}

TEST(HuggingFace, SmolLmIsEqual) {
  PEL_READ_OR_SKIP(lines, "smollm");
  compare(smollm(lines), lines);
}

TEST(HuggingFace, ChatPromptsAreEqual) {
  PEL_READ_OR_SKIP(lines, "smollm");
  const Tokenizer tokenizer = smollm(lines);
  int count = 0;
  for (const Fields& fields : lines) {
    if (fields[0] != "chat") continue;
    std::vector<ChatMessage> messages;
    for (std::size_t i = 2; i + 1 < fields.size(); i += 2) {
      messages.push_back({from_hex(fields[i]), from_hex(fields[i + 1])});
    }
    EXPECT_EQ(tokenizer.chat_prompt(messages), from_hex(fields[1]));
    ++count;
  }
  EXPECT_GE(count, 50);
}

}  // namespace
}  // namespace pel::io
