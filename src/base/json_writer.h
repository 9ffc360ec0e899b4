// Writes JSON piece by piece, and knows where commas stand.
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/utf8.h"

namespace pel {

class JsonWriter {
 public:
  // Every document has a schema with its version, such as "pellucid.ops/1": it changes where a reader would
  // break.
  explicit JsonWriter(std::string_view schema) {
    begin('{');
    field("schema", schema);
  }

  JsonWriter& key(std::string_view name);
  JsonWriter& begin_object() { return begin('{'); }
  JsonWriter& end_object() { return end('}'); }
  JsonWriter& begin_array() { return begin('['); }
  JsonWriter& end_array() { return end(']'); }
  JsonWriter& value(std::string_view text);
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(double number);  // not finite: null
  JsonWriter& value(bool fact);
  template <std::integral T>
  JsonWriter& value(T number) {
    return raw(std::to_string(number));
  }
  JsonWriter& null() { return raw("null"); }
  JsonWriter& raw(std::string_view json);  // a value that is JSON already

  template <class T>
  JsonWriter& field(std::string_view name, const T& v) {
    return key(name).value(v);
  }

  std::string finish();  // closes the document, and ends the line

 private:
  JsonWriter& begin(char bracket);
  JsonWriter& end(char bracket);
  void separate();
  std::string text_;
  std::vector<char> open_;
  bool is_first_ = true, follows_key_ = false;
};

namespace detail {
// Broken UTF-8 becomes U+FFFD. Control characters are escaped, those of two bytes too: some terminals obey
// them.
inline void append_quoted(std::string& to, std::string_view text) {
  static constexpr PlainAscii kPlain("\"\\");
  to += '"';
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = end_of_run(text, at, kPlain);
    to.append(text, at, end - at);
    at = end;
    if (at == text.size()) break;
    const CodePoint c = code_point_at(text, at);
    if (c.value == '"' || c.value == '\\') {
      to += '\\';
      to += text[at];
    } else if (c.value < 0x20 || (c.value >= 0x7f && c.value < 0xa0)) {
      to += fmt::format("\\u{:04x}", static_cast<unsigned>(c.value));
    } else if (c.value == kReplacementCharacter) {
      to += kReplacementUtf8;
    } else {
      to += text.substr(at, c.size);
    }
    at += c.size;
  }
  to += '"';
}
}  // namespace detail

inline void JsonWriter::separate() {
  if (follows_key_) {
    follows_key_ = false;
    return;
  }
  if (!is_first_) text_ += ',';
  if (!open_.empty()) {
    text_ += '\n';
    text_.append(2 * open_.size(), ' ');
  }
  is_first_ = false;
}

inline JsonWriter& JsonWriter::key(std::string_view name) {
  separate();
  detail::append_quoted(text_, name);
  text_ += ": ";
  follows_key_ = true;
  return *this;
}

inline JsonWriter& JsonWriter::value(std::string_view text) {
  separate();
  detail::append_quoted(text_, text);
  return *this;
}
inline JsonWriter& JsonWriter::value(double number) {
  return std::isfinite(number) ? raw(fmt::format("{}", number)) : null();
}
inline JsonWriter& JsonWriter::value(bool fact) { return raw(fact ? "true" : "false"); }

inline JsonWriter& JsonWriter::raw(std::string_view json) {
  separate();
  text_ += json;
  return *this;
}

inline JsonWriter& JsonWriter::begin(char bracket) {
  separate();
  text_ += bracket;
  open_.push_back(bracket);
  is_first_ = true;
  return *this;
}

inline JsonWriter& JsonWriter::end(char bracket) {
  open_.pop_back();
  if (!is_first_) {
    text_ += '\n';
    text_.append(2 * open_.size(), ' ');
  }
  text_ += bracket;
  is_first_ = false;
  return *this;
}

inline std::string JsonWriter::finish() {
  while (!open_.empty()) end(open_.back() == '{' ? '}' : ']');
  return text_ + '\n';
}

}  // namespace pel
