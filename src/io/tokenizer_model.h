// Shared by tokenizers: a vocabulary, special tokens in the text, and tokens before and after it.
#pragma once

#include <bitset>

#include "pellucid/tokenizer.h"

#include "io/split_words.h"
#include "io/token_table.h"

namespace pel::io {

enum class TokenKind : std::uint8_t {
  Normal,
  Control,  // matched literally in a text, omitted from decoded text
  Literal   // matched literally in a text
};

// The contents of a file, before any of it is checked.
struct Vocabulary {
  std::string origin;  // "vocab.txt", for errors
  std::vector<std::string> tokens;
  std::vector<TokenKind> kinds;             // empty: all are normal
  std::vector<std::string> merges;          // "left right", the first is merged first
  std::string words = "gpt-2";              // a name of word_pattern()
  std::vector<std::int64_t> before, after;  // ids before and after each text
  std::optional<std::int64_t> end_of_text;
  std::string chat_template;
};

class Tokenizer::Model {
 public:
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;
  virtual ~Model() = default;

  std::vector<std::int64_t> encode(std::string_view text, SpecialTokens around) const;
  std::string decode(ArrayView<std::int64_t> ids, SpecialTokens shown) const;
  virtual std::string bytes_of(TokenId id) const = 0;

  const Vocabulary& vocabulary() const { return vocabulary_; }
  std::optional<TokenId> find(std::string_view token) const { return table_.find(token); }
  TokenId checked(std::int64_t id) const;  // throws an IndexError outside the vocabulary
  bool is(TokenId id, TokenKind kind) const {
    return vocabulary_.kinds[static_cast<std::size_t>(id)] == kind;
  }
  const std::string& token(TokenId id) const { return vocabulary_.tokens[static_cast<std::size_t>(id)]; }
  const TokenTable& table() const { return table_; }

 protected:
  explicit Model(Vocabulary vocabulary);
  // Encodes a part of the text without special tokens, in valid UTF-8.
  virtual void encode_part(std::string_view text, std::vector<std::int64_t>& ids) const = 0;
  virtual std::string join(const std::vector<TokenId>& ids) const = 0;

 private:
  Vocabulary vocabulary_;
  TokenTable table_;
  TokenTable special_;              // those that are matched literally
  std::bitset<256> special_first_;  // the bytes that they begin with
};

std::shared_ptr<const Tokenizer::Model> make_wordpiece(Vocabulary vocabulary);
std::shared_ptr<const Tokenizer::Model> make_byte_pairs(Vocabulary vocabulary);

// Returns the prompt of a supported template; see Tokenizer::chat_prompt.
std::string fill_chat_template(std::string_view chat_template, ArrayView<ChatMessage> messages);

}  // namespace pel::io
