// Splits a text into words for byte-level tokenizers, which merge bytes within a word.
#pragma once

#include <string_view>

#include "base/function_ref.h"

namespace pel::io {

// The regular expressions that these implement are in comments at their functions.
struct WordPattern {
  std::string_view name;  // as in tokenizer.ggml.pre
  // Returns the end of the word that begins at `at`, which is inside the text.
  std::size_t (*word_end)(std::string_view text, std::size_t at);
  bool digits_first = false;     // each digit is a word, and the text between digits is split separately
  bool composes = false;         // the text is first normalized to NFC
  bool whole_words = false;      // a word that is a token is used as it is, without merging
  bool begins_with_bos = false;  // unless the file says otherwise
};

// Throws a FileError with the supported names.
const WordPattern& word_pattern(std::string_view name, std::string_view what);

// Returns the words in order; together they are the text, which is valid UTF-8.
void split_words(const WordPattern& pattern, std::string_view text, FunctionRef<void(std::string_view)> word);

}  // namespace pel::io
