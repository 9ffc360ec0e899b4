#include "doctor/report/html.h"

#include <algorithm>

#include "base/file_name.h"
#include "doctor/report/page/page.h"
#include "doctor/report/page_data.h"

namespace pel::doctor {
namespace {

constexpr std::array<std::size_t, 4> kMaxRows{5'000, 1'000, 300, 100};  // of a table; the first that fits

}  // namespace

std::string html_report(const Diagnosis& diagnosis, const Examined& examined, const HtmlOptions& options) {
  std::size_t code = page_html().size() + page_css().size() + 4'000;
  for (const std::string_view script : page_scripts()) code += script.size();
  const std::size_t available = options.max_bytes > code ? options.max_bytes - code : 0;
  std::string findings;
  for (const std::size_t rows : kMaxRows) {
    findings = page_diagnosis(diagnosis, examined, rows);
    if (findings.size() <= available / 4) break;
  }
  const std::string what_if = page_what_if(examined, options.max_edges, available * 2 / 5);
  const std::size_t taken = findings.size() + what_if.size();
  const std::string timeline = page_timeline(examined, available > taken ? available - taken : 0);

  std::string verdict;
  append_escaped_html(verdict, diagnosis.verdict.sentence);
  std::string title;
  append_escaped_html(title, file_name(diagnosis.path));

  std::string page;
  page.reserve(code + taken + timeline.size());
  std::string_view rest = page_html();
  const auto until = [&](std::string_view mark) {  // copies the page's frame up to a mark
    const std::size_t at = rest.find(mark);
    page += rest.substr(0, at);
    rest.remove_prefix(std::min(at + mark.size(), rest.size()));
  };
  until("{{title}}");
  page += title;
  until("{{css}}");
  page += page_css();
  until("{{verdict}}");
  page += verdict;
  until("{{data}}");
  page += "{\"schema\":\"pellucid.doctor.page/1\",\"diagnoses\":[" + findings + "],\"what_if\":" + what_if +
          ",\"timeline\":" + timeline + "}";
  until("{{script}}");
  for (const std::string_view script : page_scripts()) page += script;
  page += rest;
  return page;
}

}  // namespace pel::doctor
