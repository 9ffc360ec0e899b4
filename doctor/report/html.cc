#include "doctor/report/html.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/file_name.h"
#include "doctor/report/page/page.h"
#include "doctor/report/page_data.h"

namespace pel::doctor {
namespace {

constexpr std::array<std::size_t, 4> kMaxRows{5'000, 1'000, 300, 100};  // of a table; the first that fits

// What the page's own code leaves.
std::size_t bytes_for_data(const HtmlOptions& options) {
  std::size_t code = page_html().size() + page_css().size() + 4'000;
  for (const std::string_view script : page_scripts()) code += script.size();
  return options.max_bytes > code ? options.max_bytes - code : 0;
}

std::string assembled(std::string_view title, std::string_view verdict, std::string_view findings,
                      std::string_view what_if, std::string_view timeline) {
  std::string page;
  std::string_view rest = page_html();
  const auto until = [&](std::string_view mark) {  // copies the page's frame up to a mark
    const std::size_t at = rest.find(mark);
    page += rest.substr(0, at);
    rest.remove_prefix(std::min(at + mark.size(), rest.size()));
  };
  until("{{title}}");
  append_escaped_html(page, title);
  until("{{css}}");
  page += page_css();
  until("{{verdict}}");
  append_escaped_html(page, verdict);
  until("{{data}}");
  page += "{\"schema\":\"pellucid.doctor.page/1\",\"diagnoses\":[";
  page += findings;
  page += "],\"what_if\":";
  page += what_if;
  page += ",\"timeline\":";
  page += timeline;
  page += '}';
  until("{{script}}");
  for (const std::string_view script : page_scripts()) page += script;
  page += rest;
  return page;
}

}  // namespace

std::string html_report(const Diagnosis& diagnosis, const Examined& examined, const HtmlOptions& options) {
  const std::size_t available = bytes_for_data(options);
  std::string findings;
  for (const std::size_t rows : kMaxRows) {
    findings = page_diagnosis(diagnosis, examined, rows);
    if (findings.size() <= available / 4) break;
  }
  const std::string what_if = page_what_if(examined, options.max_edges, available * 2 / 5);
  const std::size_t taken = findings.size() + what_if.size();
  const std::string timeline = page_timeline(examined, available > taken ? available - taken : 0);

  return assembled(file_name(diagnosis.path), diagnosis.verdict.sentence, findings, what_if, timeline);
}

std::string html_of_ranks(const std::vector<Finding>& together, std::size_t ranks,
                          const HtmlOptions& options) {
  const std::string sentence = fmt::format("{} ranks of one run", ranks);
  const std::size_t available = bytes_for_data(options);
  std::string findings;
  for (const std::size_t rows : kMaxRows) {
    findings = page_ranks(together, sentence, rows);
    if (findings.size() <= available) break;
  }
  return assembled(sentence, sentence, findings, "null", "null");
}

}  // namespace pel::doctor
