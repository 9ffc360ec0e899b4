// A vocabulary of all bytes, whose ids are their values, and of the merged tokens.
#pragma once

#include "io/tokenizer_model.h"
#include "io/unicode.h"

namespace pel::io {

inline Vocabulary tiny_bytes(std::vector<std::string> merges) {
  Vocabulary vocabulary;
  vocabulary.origin = "tiny";
  char32_t next = 0x100;
  for (char32_t byte = 0; byte < 256; ++byte) {
    const bool printable = (byte > ' ' && byte < 0x7f) || (byte > 0xa0 && byte != 0xad);
    append_utf8(printable ? byte : next++, vocabulary.tokens.emplace_back());
  }
  for (std::string merged : merges) {
    merged.erase(merged.find(' '), 1);
    vocabulary.tokens.push_back(merged);
  }
  vocabulary.merges = std::move(merges);
  return vocabulary;
}

}  // namespace pel::io
