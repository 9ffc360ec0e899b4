// A CompileExplanation as a page. Its data is json() in fewer bytes: layers of a model have the same texts
// but for numbers, so each text is written once, without its numbers (page/explanation_data.js reads it).
#include <algorithm>
#include <string>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "pellucid/compile_explanation.h"

#include "base/page/page.h"
#include "base/readable.h"
#include "compile/explanation/page/page.h"

namespace pel {
namespace {

class PackedJson {
 public:
  explicit PackedJson(std::string_view json) : json_(json) { data_ = value(); }
  const std::string& data() const { return data_; }

  // [patterns, keys of objects], which neither ends a script nor begins a tag.
  std::string tables() const { return "[" + list_of(patterns_) + "," + list_of(shapes_) + "]"; }

 private:
  // Texts that are numbered in the order of their first use.
  struct Table {
    std::unordered_map<std::string, std::size_t> numbers{};
    std::vector<const std::string*> texts{};
    std::size_t number_of(std::string text) {
      const auto [found, is_new] = numbers.try_emplace(std::move(text), texts.size());
      if (is_new) texts.push_back(&found->first);
      return found->second;
    }
  };
  static std::string list_of(const Table& table) {
    std::string list = "[";
    for (const std::string* text : table.texts) {
      if (list.size() > 1) list += ',';
      for (const char c : *text) {
        if (c == '<' || c == '>' || c == '&')
          list += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
        else
          list += c;
      }
    }
    return list + "]";
  }

  void skip_spaces() {
    while (json_[at_] == ' ' || json_[at_] == '\n' || json_[at_] == ',' || json_[at_] == ':') ++at_;
  }
  // What is between the quotes.
  std::string_view text() {
    const std::size_t begin = ++at_;
    while (json_[at_] != '"') at_ += json_[at_] == '\\' ? 2 : 1;
    return json_.substr(begin, at_++ - begin);
  }

  // An object becomes [number of its keys, value, ...], an array [-1, value, ...].
  std::string value() {
    skip_spaces();
    if (json_[at_] == '"') return '"' + packed(text()) + '"';
    if (json_[at_] != '{' && json_[at_] != '[') {
      const std::size_t begin = at_;
      at_ = json_.find_first_of(" \n,]}", at_);
      return std::string(json_.substr(begin, at_ - begin));
    }
    const bool is_object = json_[at_++] == '{';
    std::string keys, values;
    for (skip_spaces(); json_[at_] != '}' && json_[at_] != ']'; skip_spaces()) {
      if (is_object) keys += fmt::format("{}\"{}\"", keys.empty() ? "" : ",", text());
      values += ',' + value();
    }
    ++at_;
    return fmt::format("[{}{}]", is_object ? static_cast<int>(shapes_.number_of("[" + keys + "]")) : -1,
                       values);
  }

  static bool is_digit(char c) { return c >= '0' && c <= '9'; }

  // "%8 = mul(%4, %7)" becomes the number of the pattern "%\t = mul(%\t, %\t)", and "8 4 7". A text with an
  // escape, whose digits may be part of it, is a pattern as it is.
  std::string packed(std::string_view text) {
    std::string pattern = "\"", numbers;
    const bool has_escape = text.find('\\') != std::string_view::npos;
    for (std::size_t at = 0; at < text.size();) {
      if (has_escape || !is_digit(text[at])) {
        pattern += text[at++];
        continue;
      }
      pattern += "\\t";
      numbers += ' ';
      for (; at < text.size() && is_digit(text[at]); ++at) numbers += text[at];
    }
    return fmt::format("{}{}", patterns_.number_of(pattern + "\""), numbers);
  }

  std::string_view json_;
  std::size_t at_ = 0;
  Table patterns_, shapes_;
  std::string data_;
};

// For browsers without JavaScript.
std::string sentence(const CompileExplanation& explanation) {
  std::size_t kernels = 0;
  std::uint64_t read = 0, written = 0;
  for (const CompileExplanation::Graph& graph : explanation.graphs) {
    kernels += graph.kernels.size();
    for (const CompileExplanation::Kernel& kernel : graph.kernels) {
      read += kernel.bytes_read;
      written += kernel.bytes_written;
    }
  }
  return fmt::format("{} kernels, {} read, {} written", kernels, readable_bytes(read),
                     readable_bytes(written));
}

}  // namespace

std::string CompileExplanation::html(std::string_view title) const {
  const PackedJson packed(json());
  const std::string tables = packed.tables();
  std::string title_text, sentence_text;
  append_escaped_html(title_text, title);
  append_escaped_html(sentence_text, sentence(*this));
  return filled_page(compiler::page_html(), {{"{{title}}", {title_text}},
                                             {"{{css}}", {shared_page_css(), compiler::page_css()}},
                                             {"{{sentence}}", {sentence_text}},
                                             {"{{texts}}", {tables}},
                                             {"{{data}}", {packed.data()}},
                                             {"{{script}}", page_scripts_with(compiler::page_scripts())}});
}

}  // namespace pel
