#include "doctor/report/page_data.h"

#include <cmath>

#include <fmt/format.h>

#include "base/utf8.h"

namespace pel::doctor {
namespace {

// The bytes of the character at `at`; 0: it is not UTF-8.
std::size_t utf8_bytes(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) {
    return static_cast<unsigned char>(at + i < text.size() ? text[at + i] : 0);
  };
  const auto follows = [&](std::size_t i) { return (byte(i) & 0xC0) == 0x80; };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first < 0xE0) return follows(1) ? 2 : 0;
  if (first >= 0xE0 && first < 0xF0) {
    if (!follows(1) || !follows(2)) return 0;
    if (first == 0xE0 && byte(1) < 0xA0) return 0;    // longer than it must be
    return first == 0xED && byte(1) >= 0xA0 ? 0 : 3;  // half of a pair of UTF-16
  }
  if (first >= 0xF0 && first < 0xF5) {
    if (!follows(1) || !follows(2) || !follows(3)) return 0;
    if (first == 0xF0 && byte(1) < 0x90) return 0;
    return first == 0xF4 && byte(1) >= 0x90 ? 0 : 4;
  }
  return 0;
}

void append_page_text(std::string& to, std::string_view text) {
  static constexpr PlainAscii kPlain("\"\\<>&");
  to += '"';
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = end_of_run(text, at, kPlain);
    to.append(text, at, end - at);
    at = end;
    if (at == text.size()) break;
    const std::size_t bytes = utf8_bytes(text, at);
    const char c = text[at];
    if (bytes == 0) {
      to += "\uFFFD";
      ++at;
      continue;
    }
    if (bytes > 1) {
      to += text.substr(at, bytes);
    } else if (c == '"' || c == '\\') {
      to += '\\';
      to += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == '<' || c == '>' || c == '&' || c == 0x7F) {
      to += fmt::format("\\u{:04x}",
                        static_cast<unsigned>(c));  // so that no tag, and no end of the script, is in it
    } else {
      to += c;
    }
    at += bytes;
  }
  to += '"';
}

}  // namespace

void PageJson::separate() {
  if (needs_comma_) text_ += ',';
  needs_comma_ = true;
}
PageJson& PageJson::begin(char bracket) {
  separate();
  text_ += bracket;
  needs_comma_ = false;
  return *this;
}
PageJson& PageJson::end(char bracket) {
  text_ += bracket;
  needs_comma_ = true;
  return *this;
}
PageJson& PageJson::key(std::string_view name) {
  text(name);
  text_ += ':';
  needs_comma_ = false;
  return *this;
}
PageJson& PageJson::text(std::string_view text) {
  separate();
  append_page_text(text_, text);
  return *this;
}
PageJson& PageJson::number(std::int64_t number) { return raw(std::to_string(number)); }
PageJson& PageJson::number(double number) {
  return std::isfinite(number) ? raw(fmt::format("{}", number)) : null();
}
PageJson& PageJson::fact(bool fact) { return raw(fact ? "true" : "false"); }
PageJson& PageJson::null() { return raw("null"); }
PageJson& PageJson::raw(std::string_view json) {
  separate();
  text_ += json;
  return *this;
}

void PageColumn::add(std::int64_t number) {
  static constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const bool is_negative = number < 0;
  auto rest = static_cast<std::uint64_t>(is_negative ? -number : number) << 1 | (is_negative ? 1u : 0u);
  do {
    const auto digit = static_cast<std::size_t>(rest & 31);
    rest >>= 5;
    text_ += kDigits[rest == 0 ? digit : digit | 32];
  } while (rest != 0);
}

std::int64_t PageTexts::add(std::string_view text) {
  const auto [at, is_new] = ids_.try_emplace(std::string(text), static_cast<std::int64_t>(texts_.size()));
  if (is_new) {
    std::string kept(text.substr(0, kMaxBytes));
    if (kept.size() < text.size()) {
      while (!kept.empty() && (static_cast<unsigned char>(kept.back()) & 0xC0) == 0x80) kept.pop_back();
      if (!kept.empty() && static_cast<unsigned char>(kept.back()) >= 0x80) kept.pop_back();
      kept += "…";
    }
    texts_.push_back(std::move(kept));
  }
  return at->second;
}

void PageTexts::write(PageJson& json) const {
  json.begin_array();
  for (const std::string& text : texts_) json.text(text);
  json.end_array();
}

}  // namespace pel::doctor
