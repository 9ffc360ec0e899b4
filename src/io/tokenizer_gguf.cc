// Loads tokenizers from the metadata of a GGUF file.
#include "base/check.h"
#include "io/tokenizer_model.h"

namespace pel::io {
namespace {

constexpr std::string_view kWordBegin = "\xe2\x96\x81";  // U+2581

template <class T>
const T* value_of(const GgufFile& file, std::string_view key) {
  const auto found = file.metadata().find(key);
  if (found == file.metadata().end()) return nullptr;
  const T* value = std::get_if<T>(&found->second);
  PEL_CHECK(value, FileError, "{} has a type that is not allowed in a tokenizer", key);
  return value;
}

std::optional<std::int64_t> id_of(const GgufFile& file, std::string_view key) {
  const auto* id = value_of<std::int64_t>(file, key);
  return id ? std::optional(*id) : std::nullopt;
}

// Unknown (2) counts as control, as in llama.cpp. Unused tokens and byte tokens match no text.
TokenKind kind_of(std::int64_t type) {
  if (type == 2 || type == 3) return TokenKind::Control;
  return type == 4 ? TokenKind::Literal : TokenKind::Normal;
}

void add_around(const GgufFile& file, std::string_view flag, bool otherwise, std::optional<std::int64_t> id,
                std::vector<std::int64_t>& around) {
  const bool* value = value_of<bool>(file, flag);
  if (!(value ? *value : otherwise)) return;
  PEL_CHECK(id, FileError, "{} is set, but the file does not define that token", flag);
  around.push_back(*id);
}

// The file marks tokens that begin a word; vocab.txt marks those inside a word.
void restore_insides(Vocabulary& vocabulary) {
  for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    std::string& token = vocabulary.tokens[id];
    const bool bracketed = token.starts_with('[') && token.ends_with(']');
    if (token.starts_with(kWordBegin)) {
      token.erase(0, kWordBegin.size());
    } else if (!bracketed && (vocabulary.kinds.empty() || vocabulary.kinds[id] == TokenKind::Normal)) {
      token.insert(0, "##");
    }
  }
}

Tokenizer read(const GgufFile& file) {
  const std::string& model = file.text("tokenizer.ggml.model");
  PEL_CHECK(model == "gpt2" || model == "bert", FileError,
            "tokenizer.ggml.model is \"{}\"; supported are \"gpt2\" and \"bert\"", model);
  Vocabulary vocabulary;
  vocabulary.origin = "tokenizer.ggml";
  vocabulary.tokens = file.texts("tokenizer.ggml.tokens");
  if (const auto* types = value_of<std::vector<std::int64_t>>(file, "tokenizer.ggml.token_type")) {
    for (const std::int64_t type : *types) vocabulary.kinds.push_back(kind_of(type));
    PEL_CHECK(!types->empty() || vocabulary.tokens.empty(), FileError,
              "tokenizer.ggml.token_type is empty, but there are {} tokens", vocabulary.tokens.size());
  }
  if (const auto* chat = value_of<std::string>(file, "tokenizer.chat_template"))
    vocabulary.chat_template = *chat;
  vocabulary.end_of_text = id_of(file, "tokenizer.ggml.eos_token_id");
  const std::optional<std::int64_t> begin = id_of(file, "tokenizer.ggml.bos_token_id");
  if (model == "bert") {
    std::optional<std::int64_t> separator =
        id_of(file, "tokenizer.ggml.seperator_token_id");  // as it is spelled
    if (!separator) separator = id_of(file, "tokenizer.ggml.eos_token_id");
    add_around(file, "tokenizer.ggml.add_bos_token", true, begin, vocabulary.before);
    add_around(file, "tokenizer.ggml.add_eos_token", true, separator, vocabulary.after);
    restore_insides(vocabulary);
    return Tokenizer(make_wordpiece(std::move(vocabulary)));
  }
  vocabulary.merges = file.texts("tokenizer.ggml.merges");
  if (const auto* words = value_of<std::string>(file, "tokenizer.ggml.pre")) vocabulary.words = *words;
  if (vocabulary.words == "default") vocabulary.words = "gpt-2";
  const WordPattern& pattern = word_pattern(vocabulary.words, vocabulary.origin);
  add_around(file, "tokenizer.ggml.add_bos_token", pattern.begins_with_bos, begin, vocabulary.before);
  add_around(file, "tokenizer.ggml.add_eos_token", false, vocabulary.end_of_text, vocabulary.after);
  return Tokenizer(make_byte_pairs(std::move(vocabulary)));
}

}  // namespace

Tokenizer Tokenizer::from_gguf(const GgufFile& file, Site site) {
  return as_call("Tokenizer::from_gguf", site, [&] { return read(file); });
}

}  // namespace pel::io
