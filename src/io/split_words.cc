#include "io/split_words.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/check.h"
#include "io/unicode.h"

namespace pel::io {
namespace {

struct Seen {
  CharClass kind;
  char32_t value;
  std::size_t size;  // in bytes
};
Seen see(std::string_view text, std::size_t at) {
  const CodePoint c = code_point_at(text, at);
  return {class_of(c.value), c.value, c.size};
}

bool is_newline(char32_t c) { return c == '\r' || c == '\n'; }

// Returns the end of the run of one class that begins at `at`.
std::size_t run_end(std::string_view text, std::size_t at, CharClass kind) {
  while (at < text.size()) {
    const Seen seen = see(text, at);
    if (seen.kind != kind) break;
    at += seen.size;
  }
  return at;
}

// \s+(?!\S)|\s+ : spaces except the last one, which belongs to the next word.
std::size_t spaces_end(std::string_view text, std::size_t at) {
  const std::size_t begin = at;
  std::size_t last = at;  // where the last space begins
  while (at < text.size()) {
    const Seen seen = see(text, at);
    if (seen.kind != CharClass::Space) return last == begin ? at : last;
    last = at;
    at += seen.size;
  }
  return at;
}

// Returns the size of 's 't 're 've 'm 'll 'd after an apostrophe at `at`; 0 if it is none of them.
std::size_t contraction_end(std::string_view text, std::size_t at) {
  constexpr std::array<std::string_view, 7> kEndings = {"s", "t", "re", "ve", "m", "ll", "d"};
  const std::string_view rest = text.substr(at + 1);
  for (const std::string_view ending : kEndings) {
    if (rest.starts_with(ending)) return at + 1 + ending.size();
  }
  return 0;
}

// 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
std::size_t gpt2_word_end(std::string_view text, std::size_t at) {
  if (text[at] == '\'') {
    if (const std::size_t end = contraction_end(text, at)) return end;
  }
  std::size_t body = at;
  Seen seen = see(text, at);
  if (text[at] == ' ' && at + 1 < text.size()) seen = see(text, body = at + 1);
  if (seen.kind == CharClass::Space) return spaces_end(text, at);
  return run_end(text, body + seen.size, seen.kind);
}

// Also capitals, and the long s (U+017F), which case folding maps to s.
std::size_t folded_contraction_end(std::string_view text, std::size_t at) {
  std::string folded = "'";
  std::array<std::size_t, 3> ends = {at + 1, 0, 0};
  for (std::size_t i = 1; i < 3 && ends[i - 1] < text.size(); ++i) {
    const CodePoint c = code_point_at(text, ends[i - 1]);
    folded.push_back(c.value == 0x17f ? 's' : c.value < 128 ? static_cast<char>(to_lower(c.value)) : '\0');
    ends[i] = ends[i - 1] + c.size;
  }
  const std::size_t end = contraction_end(folded, 0);
  return end == 0 ? 0 : ends[end - 1];
}

// (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,MAX}| ?[^\s\p{L}\p{N}]+[\r\n]*|
// \s*[\r\n]+|\s+(?!\S)|\s+
template <int MostDigits>
std::size_t llama_word_end(std::string_view text, std::size_t at) {
  if (text[at] == '\'') {
    if (const std::size_t end = folded_contraction_end(text, at)) return end;
  }
  const Seen first = see(text, at);
  const std::size_t second_at = at + first.size;
  const bool has_second = second_at < text.size();
  const Seen second = has_second ? see(text, second_at) : Seen{CharClass::Space, 0, 0};
  if (first.kind == CharClass::Letter) return run_end(text, second_at, CharClass::Letter);
  if (first.kind == CharClass::Number) {
    std::size_t end = second_at;
    for (int digits = 1; digits < MostDigits && end < text.size(); ++digits) {
      const Seen digit = see(text, end);
      if (digit.kind != CharClass::Number) break;
      end += digit.size;
    }
    return end;
  }
  if (second.kind == CharClass::Letter && !is_newline(first.value)) {
    return run_end(text, second_at, CharClass::Letter);
  }
  if (first.kind == CharClass::Other || (first.value == ' ' && second.kind == CharClass::Other)) {
    std::size_t end = run_end(text, second_at, CharClass::Other);
    while (end < text.size() && is_newline(static_cast<unsigned char>(text[end]))) ++end;
    return end;
  }
  const std::size_t spaces = run_end(text, at, CharClass::Space);
  const std::size_t newline = text.substr(at, spaces - at).find_last_of("\r\n");
  if (newline != std::string_view::npos) return at + newline + 1;
  return spaces_end(text, at);
}

constexpr std::array kPatterns = {
    WordPattern{.name = "gpt-2", .word_end = gpt2_word_end},
    WordPattern{.name = "smollm", .word_end = gpt2_word_end, .digits_first = true},
    WordPattern{
        .name = "llama-bpe", .word_end = llama_word_end<3>, .whole_words = true, .begins_with_bos = true},
    WordPattern{.name = "qwen2", .word_end = llama_word_end<1>, .composes = true},
};

void split_run(const WordPattern& pattern, std::string_view text, FunctionRef<void(std::string_view)> word) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = pattern.word_end(text, at);
    word(text.substr(at, end - at));
    at = end;
  }
}

}  // namespace

const WordPattern& word_pattern(std::string_view name, std::string_view what) {
  const auto* const found = std::find_if(kPatterns.begin(), kPatterns.end(),
                                         [&](const WordPattern& pattern) { return pattern.name == name; });
  if (found == kPatterns.end()) {
    std::string known;
    for (const WordPattern& pattern : kPatterns) known += fmt::format(" \"{}\"", pattern.name);
    throw FileError(
        fmt::format("{}: words are split by the unknown pattern \"{}\"; supported are{}", what, name, known));
  }
  return *found;
}

void split_words(const WordPattern& pattern, std::string_view text,
                 FunctionRef<void(std::string_view)> word) {
  if (!pattern.digits_first) return split_run(pattern, text, word);
  std::size_t begin = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Seen seen = see(text, at);
    if (seen.kind == CharClass::Number) {
      split_run(pattern, text.substr(begin, at - begin), word);
      word(text.substr(at, seen.size));
      begin = at + seen.size;
    }
    at += seen.size;
  }
  split_run(pattern, text.substr(begin), word);
}

}  // namespace pel::io
