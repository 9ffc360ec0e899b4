// How a byte-level tokenizer cuts a text into words, within which bytes are merged.
#pragma once

#include <string_view>

#include "base/function_ref.h"

namespace pel::io {

// The patterns of regular expressions that these follow stand beside their functions.
struct WordPattern {
  std::string_view name;  // as tokenizer.ggml.pre has it
  // The end of the word that begins at `at`, which is inside the text.
  std::size_t (*word_end)(std::string_view text, std::size_t at);
  bool digits_first = false;     // each digit is a word, and what lies between digits is cut on its own
  bool composes = false;         // the text is first brought to NFC
  bool whole_words = false;      // a word that is a token is taken as it is, whatever merges say
  bool begins_with_bos = false;  // unless the file says otherwise
};

// A FileError of `what` names the known ones.
const WordPattern& word_pattern(std::string_view name, std::string_view what);

// The words in order; together they are the text, which is valid UTF-8.
void split_words(const WordPattern& pattern, std::string_view text, FunctionRef<void(std::string_view)> word);

}  // namespace pel::io
