// Any bytes are a text: encoding and decoding neither fails nor loses valid parts. And any bytes are a
// vocabulary, which is loaded or refused.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "pellucid/error.h"

#include "io/tokenizer_model.h"
#include "io/unicode.h"
#include "tokenizer/tiny_bytes.h"

namespace {

using namespace pel::io;

void require(bool holds) {
  if (!holds) std::abort();
}

Tokenizer byte_pairs(std::string_view words) {
  Vocabulary vocabulary = tiny_bytes({"t h", "th e", "Ġ the", "Ã ©", "a a", "aa aa", "Ġ Ġ", "Ċ Ċ", "ð Ł"});
  vocabulary.words = words;
  vocabulary.tokens.emplace_back("<|x|>");
  vocabulary.kinds.assign(vocabulary.tokens.size(), TokenKind::Normal);
  vocabulary.kinds.back() = TokenKind::Literal;
  return Tokenizer(make_byte_pairs(std::move(vocabulary)));
}

Tokenizer wordpiece() {
  Vocabulary vocabulary;
  vocabulary.origin = "fuzz";
  vocabulary.tokens = {"[UNK]", "[CLS]", "[SEP]", "the", "##a", "a", "##b", "e", "!", "\u4e2d", "##\u0939"};
  vocabulary.kinds.assign(vocabulary.tokens.size(), TokenKind::Normal);
  for (int id = 0; id < 3; ++id) vocabulary.kinds[id] = TokenKind::Control;
  vocabulary.before = {1};
  vocabulary.after = {2};
  return Tokenizer(make_wordpiece(std::move(vocabulary)));
}

void read_vocabulary(std::string_view bytes) {
  Vocabulary vocabulary;
  vocabulary.origin = "fuzz";
  bool merges = false;
  while (!bytes.empty()) {
    const std::size_t end = std::min(bytes.find('\n'), bytes.size());
    const std::string line(bytes.substr(0, end));
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
    if (line == "merges") {
      merges = true;
    } else {
      (merges ? vocabulary.merges : vocabulary.tokens).push_back(line);
    }
  }
  for (const std::string& token : vocabulary.tokens) {
    vocabulary.kinds.push_back(token.starts_with('<') ? TokenKind::Control : TokenKind::Normal);
  }
  for (const auto make : {make_byte_pairs, make_wordpiece}) {
    try {
      const Tokenizer tokenizer(make(vocabulary));
      const std::string all = "the \u00e9 a!\n<x>" + (vocabulary.tokens.empty() ? "" : vocabulary.tokens[0]);
      tokenizer.decode(tokenizer.encode(all));
    } catch (const pel::FileError&) {
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Tokenizer pieces = wordpiece();
  static const Tokenizer plain[] = {byte_pairs("gpt-2"), byte_pairs("smollm"), byte_pairs("llama-bpe")};
  static const Tokenizer composing = byte_pairs("qwen2");
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::string storage;
  const std::string_view valid = replace_invalid(text, storage);
  for (const Tokenizer& tokenizer : plain) require(tokenizer.decode(tokenizer.encode(text)) == valid);
  // Composing twice changes nothing.
  const std::string once = composing.decode(composing.encode(text));
  require(composing.decode(composing.encode(once)) == once);
  pieces.decode(pieces.encode(text));
  read_vocabulary(text);
  return 0;
}
