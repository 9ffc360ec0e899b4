#include "inspect/json_writer.h"

#include <cmath>

#include <fmt/format.h>

namespace pel::inspect {
namespace {

void append_quoted(std::string& to, std::string_view text) {
  to += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      to += '\\';
      to += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      to += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      to += c;
    }
  }
  to += '"';
}

}  // namespace

void JsonWriter::separate() {
  if (follows_key_) {
    follows_key_ = false;
    return;
  }
  if (!is_first_) text_ += ',';
  if (!open_.empty()) text_ += '\n' + std::string(2 * open_.size(), ' ');
  is_first_ = false;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  separate();
  append_quoted(text_, name);
  text_ += ": ";
  follows_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::value(std::string_view text) {
  separate();
  append_quoted(text_, text);
  return *this;
}
JsonWriter& JsonWriter::value(double number) {
  return std::isfinite(number) ? raw(fmt::format("{}", number)) : null();
}
JsonWriter& JsonWriter::value(bool fact) { return raw(fact ? "true" : "false"); }

JsonWriter& JsonWriter::raw(std::string_view json) {
  separate();
  text_ += json;
  return *this;
}

JsonWriter& JsonWriter::begin(char bracket) {
  separate();
  text_ += bracket;
  open_.push_back(bracket);
  is_first_ = true;
  return *this;
}

JsonWriter& JsonWriter::end(char bracket) {
  open_.pop_back();
  if (!is_first_) {
    text_ += '\n';
    text_.append(2 * open_.size(), ' ');
  }
  text_ += bracket;
  is_first_ = false;
  return *this;
}

std::string JsonWriter::finish() {
  while (!open_.empty()) end(open_.back() == '{' ? '}' : ']');
  return text_ + '\n';
}

}  // namespace pel::inspect
