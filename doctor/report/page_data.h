// JSON without spaces that may stand inside a script element, and columns of numbers in it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "doctor/replay/what_if.h"
#include "doctor/report/html.h"

namespace pel::doctor {

class PageJson {
 public:
  PageJson& begin_object() { return begin('{'); }
  PageJson& end_object() { return end('}'); }
  PageJson& begin_array() { return begin('['); }
  PageJson& end_array() { return end(']'); }
  PageJson& key(std::string_view name);
  PageJson& text(std::string_view text);  // what is not UTF-8 becomes U+FFFD
  PageJson& number(std::int64_t number);
  PageJson& number(double number);  // not finite: null
  PageJson& fact(bool fact);
  PageJson& null();
  PageJson& raw(std::string_view json);

  const std::string& str() const { return text_; }

 private:
  PageJson& begin(char bracket);
  PageJson& end(char bracket);
  void separate();
  std::string text_;
  bool needs_comma_ = false;
};

// Whole numbers as digits of five bits, the lowest first, as in source maps: the letters of base64, of which
// the upper half says that there is more. The sign is the lowest bit.
class PageColumn {
 public:
  void add(std::int64_t number);
  void add_delta(std::int64_t number) {  // from the number before
    add(saturating_sub(number, last_));
    last_ = number;
  }
  const std::string& str() const { return text_; }

 private:
  std::string text_;
  std::int64_t last_ = 0;
};

// Each text once. Long ones are cut.
class PageTexts {
 public:
  std::int64_t add(std::string_view text);
  void write(PageJson& json) const;

 private:
  static constexpr std::size_t kMaxBytes = 1'000;
  std::vector<std::string> texts_;
  std::unordered_map<std::string, std::int64_t> ids_;
};

// The parts of the page's data, each a value of JSON.
std::string page_diagnosis(const Diagnosis& diagnosis, const Examined& examined, std::size_t max_rows);
std::string page_findings(const std::vector<Finding>& findings, const PageOverview& overview,
                          std::size_t max_rows);
std::string page_timeline(const Examined& examined, std::size_t max_bytes);
// The graph where it has at most so many edges and takes at most so many bytes, else answers.
std::string page_what_if(const Examined& examined, std::size_t max_edges, std::size_t max_bytes);

}  // namespace pel::doctor
