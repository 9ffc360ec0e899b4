// Text to tokens and back.
//
//   const auto tokenizer = io::Tokenizer::from_gguf(file);
//   std::vector<std::int64_t> ids = tokenizer.encode("The capital of France is");
//   std::string text = tokenizer.decode(ids);
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pellucid/io.h"

namespace pel::io {

enum class SpecialTokens : bool { No, Yes };

struct ChatMessage {
  std::string role;  // "system", "user" or "assistant"
  std::string content;
};

class PEL_API Tokenizer {
 public:
  // BERT's WordPiece from a `vocab.txt`: one token a line. Lower-cases and strips accents, as the uncased
  // models do.
  static Tokenizer wordpiece(const std::string& vocab_path, Site site = Site::current());
  // GPT-2's bytes and merges, from `encoder.json` and `vocab.bpe`.
  static Tokenizer byte_pairs(const std::string& vocab_path, const std::string& merges_path,
                              Site site = Site::current());
  // From tokenizer.ggml.* of a GGUF file: the models "gpt2", which splits words in the way of
  // "gpt-2", "smollm", "llama-bpe" or "qwen2", and "bert".
  static Tokenizer from_gguf(const GgufFile& file, Site site = Site::current());

  // Invalid UTF-8 is decoded as U+FFFD, one for each maximal invalid part. SpecialTokens::Yes adds the tokens
  // that the model expects around a text ([CLS] … [SEP]). Special tokens within the text, such as
  // <|im_start|>, are always recognized. Thread-safe.
  std::vector<std::int64_t> encode(std::string_view text, SpecialTokens around = SpecialTokens::Yes,
                                   Site site = Site::current()) const;
  // Valid UTF-8. Special tokens are omitted unless requested.
  std::string decode(ArrayView<std::int64_t> ids, SpecialTokens shown = SpecialTokens::No,
                     Site site = Site::current()) const;
  // The bytes of one token, which may be a part of a character: for streaming.
  std::string bytes_of(std::int64_t id, Site site = Site::current()) const;

  // The prompt of a chat model: the messages in its template, up to the beginning of its answer. Only ChatML
  // templates are supported (<|im_start|>role … <|im_end|>); others are a ValueError. If the template has a
  // default system message, it is used for a chat without one.
  std::string chat_prompt(ArrayView<ChatMessage> messages, Site site = Site::current()) const;

  std::int64_t size() const;
  std::optional<std::int64_t> id_of(std::string_view token) const;
  const std::string& token(std::int64_t id, Site site = Site::current()) const;  // as in its file
  bool is_special(std::int64_t id, Site site = Site::current()) const;           // one that decode omits
  std::optional<std::int64_t> end_of_text() const;                               // where generation stops

  class Model;  // the part that differs by kind of tokenizer
  explicit Tokenizer(std::shared_ptr<const Model> model) : model_(std::move(model)) {}

 private:
  std::shared_ptr<const Model> model_;
};

}  // namespace pel::io
