#include "doctor/report/html.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/file_name.h"
#include "base/page/page.h"
#include "doctor/report/page/page.h"
#include "doctor/report/page_data.h"

namespace pel::doctor {
namespace {

constexpr std::array<std::size_t, 4> kMaxRows{5'000, 1'000, 300, 100};  // of a table; the first that fits

std::size_t code_bytes() {
  std::size_t code = page_html().size() + shared_page_css().size() + page_css().size() + 4'000;
  for (const std::string_view script : page_scripts_with(page_scripts())) code += script.size();
  return code;
}

// What the page's own code leaves.
std::size_t bytes_for_data(const HtmlOptions& options) {
  const std::size_t code = code_bytes();
  return options.max_bytes > code ? options.max_bytes - code : 0;
}

// Findings as write(max_rows) returns them, with the most rows that fit.
template <class Write>
std::string fitting(const std::vector<Finding>& findings, std::size_t max_bytes, Write write) {
  std::size_t longest = 0;
  for (const Finding& finding : findings) {
    for (const Table& table : finding.tables) longest = std::max(longest, table.rows.size());
  }
  std::string text;
  for (const std::size_t rows : kMaxRows) {
    if (!text.empty() && rows >= longest) continue;  // would be the same again
    text = write(rows);
    if (text.size() <= max_bytes) break;
  }
  return text;
}

std::string assembled(std::string_view title, std::string_view verdict, std::string_view findings,
                      std::string_view what_if, std::string_view timeline) {
  std::string title_text, verdict_text;
  append_escaped_html(title_text, title);
  append_escaped_html(verdict_text, verdict);
  return filled_page(page_html(), {{"{{title}}", {title_text}},
                                   {"{{css}}", {shared_page_css(), page_css()}},
                                   {"{{verdict}}", {verdict_text}},
                                   {"{{data}}",
                                    {R"({"schema":"pellucid.doctor.page/1","diagnoses":[)", findings,
                                     R"(],"what_if":)", what_if, R"(,"timeline":)", timeline, "}"}},
                                   {"{{script}}", page_scripts_with(page_scripts())}});
}

}  // namespace

std::string html_report(const Diagnosis& diagnosis, const Examined& examined, const HtmlOptions& options) {
  const std::size_t available = bytes_for_data(options);
  const std::string findings = fitting(diagnosis.findings, available / 4, [&](std::size_t max_rows) {
    return page_diagnosis(diagnosis, examined, max_rows);
  });
  const std::string what_if = page_what_if(examined, options.max_edges, available * 2 / 5);
  const std::size_t taken = findings.size() + what_if.size();
  const std::string timeline = page_timeline(examined, available > taken ? available - taken : 0);

  return assembled(file_name(diagnosis.path), diagnosis.verdict.sentence, findings, what_if, timeline);
}

std::string html_of_findings(const std::vector<Finding>& findings, const PageOverview& overview,
                             const HtmlOptions& options) {
  const std::string data = fitting(findings, bytes_for_data(options), [&](std::size_t max_rows) {
    return page_findings(findings, overview, max_rows);
  });
  return assembled(overview.title, overview.sentence, data, "null", "null");
}

std::string html_of_ranks(const std::vector<Finding>& together, std::size_t ranks,
                          const HtmlOptions& options) {
  const std::string sentence = fmt::format("{} ranks of one run", ranks);
  return html_of_findings(together, {.title = sentence, .sentence = sentence}, options);
}

}  // namespace pel::doctor
