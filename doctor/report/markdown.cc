#include "doctor/report/markdown.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/file_name.h"
#include "base/terminal.h"
#include "doctor/report/prescription_text.h"
#include "doctor/report/readable_value.h"
#include "doctor/report/totals_line.h"

namespace pel::doctor {
namespace {

constexpr std::size_t kMaxMarkdownRows = 10;

// Neither markup nor the end of a cell.
std::string plain(std::string_view text) {
  static constexpr PlainAscii kPlain("<>&\\`*_[]|#@!~");
  const std::string clean = printable(text);
  std::string safe;
  for (std::size_t at = 0; at < clean.size(); ++at) {
    const std::size_t end = end_of_run(clean, at, kPlain);
    safe.append(clean, at, end - at);
    at = end;
    if (at == clean.size()) break;
    const char c = clean[at];
    if (c == '<') {
      safe += "&lt;";
    } else if (c == '>') {
      safe += "&gt;";
    } else if (c == '&') {
      safe += "&amp;";
    } else {
      if (static_cast<unsigned char>(c) < 0x80) safe += '\\';
      safe += c;
    }
  }
  return safe;
}

// As code: what cannot be in it becomes something that looks like it.
std::string code(std::string_view text) {
  std::string safe(printable(text));
  std::ranges::replace(safe, '`', '\'');
  std::string cell;
  for (const char c : safe) {
    if (c == '|') cell += '\\';
    cell += c;
  }
  return "`" + cell + "`";
}

void add_prescriptions_table(std::string& text, std::span<const Finding> findings) {
  const auto shown = shown_prescriptions(findings);
  if (!shown) return;
  text += "\n| gain | what to do | how |\n|---|---|---|\n";
  for (const ShownPrescription& p : shown->list) {
    std::string what = plain(p.action);
    if (!p.where.empty()) what += "<br>" + plain(p.where);
    if (!p.needs.empty()) what += "<br>*" + plain(p.needs) + "*";
    text += fmt::format("| {} | {} | {} |\n", plain(p.gain), what, code(p.how));
  }
  if (!shown->together.empty()) text += '\n' + plain(shown->together) + '\n';
}

void add_markdown_finding(std::string& text, const Finding& finding) {
  text += "\n#### " + plain(finding.title) + "\n\n";
  for (const std::string& sentence : finding.sentences) text += "- " + plain(sentence) + '\n';
  for (const Fact& fact : finding.facts)
    text += fmt::format("- {}: {}\n", plain(fact.label), plain(readable(fact.value, fact.unit)));
  for (const Table& table : finding.tables) {
    if (table.rows.empty()) continue;
    text += '\n';
    std::string heads, lines;
    for (const Column& column : table.columns) {
      if (column.label.empty()) continue;
      heads += "| " + plain(column.label) + " ";
      lines += column.unit == Unit::None ? "|---" : "|---:";
    }
    text += heads + "|\n" + lines + "|\n";
    const std::size_t rows =
        std::min<std::size_t>({table.rows.size(), kMaxMarkdownRows, std::max<std::size_t>(1, table.shown)});
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t i = 0; i < table.columns.size(); ++i) {
        if (table.columns[i].label.empty()) continue;
        text += "| " +
                plain(i < table.rows[row].size() ? readable(table.rows[row][i], table.columns[i].unit) : "") +
                " ";
      }
      text += "|\n";
    }
    if (rows < table.rows.size()) text += fmt::format("\n… and {} more\n", table.rows.size() - rows);
  }
}

void add_expectations_table(std::string& text, const std::vector<Checked>& expectations) {
  if (expectations.empty()) return;
  text += "\n| | expected | seen |\n|---|---|---|\n";
  for (const Checked& checked : expectations)
    text += fmt::format("| {} | {} | {} |\n", checked.holds ? "✓" : "✗", code(checked.condition),
                        plain(checked.seen));
}

}  // namespace

std::string markdown_report(const Report& report) {
  std::string text;
  add_prescriptions_table(text, report.together);
  for (const Finding& finding : report.together) {
    if (finding.key != kPrescriptions) add_markdown_finding(text, finding);
  }
  for (const Report::Trace& trace : report.traces) {
    const Diagnosis& diagnosis = trace.diagnosis;
    text +=
        fmt::format("{}### {}: {}\n\n{}\n\n{}\n", text.empty() ? "" : "\n", plain(file_name(diagnosis.path)),
                    name(diagnosis.verdict.bound), plain(diagnosis.verdict.sentence), totals_line(diagnosis));
    add_prescriptions_table(text, diagnosis.findings);
    for (const Finding& finding : diagnosis.findings) {
      if (finding.is_asked_for && finding.key != kPrescriptions) add_markdown_finding(text, finding);
    }
    add_expectations_table(text, trace.expectations);
    if (!is_whole(diagnosis.summary)) text += "\nThe trace was read in part.\n";
  }
  for (const Report::Unread& unread : report.unread)
    text += fmt::format("\n{} cannot be read: {}\n", plain(file_name(unread.path)), plain(unread.reason));
  return text;
}

}  // namespace pel::doctor
