#include "doctor/report/text.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "base/file_name.h"
#include "base/wrapped.h"
#include "doctor/report/findings.h"
#include "doctor/report/prescription_text.h"
#include "doctor/report/readable_value.h"
#include "doctor/report/text_table.h"
#include "doctor/report/totals_line.h"

namespace pel::doctor {
namespace {

constexpr std::size_t kMaxSkipped = 5;  // reasons that are shown
constexpr int kMinFactsForTwoColumns = 5;
constexpr std::size_t kMaxShortLines = 40;

std::string colored(Bound bound, const Terminal& terminal, std::string_view text) {
  switch (bound) {
    case Bound::Compute:
      return terminal.green(text);
    case Bound::Memory:
    case Bound::Communication:
      return terminal.yellow(text);
    case Bound::Overhead:
    case Bound::Input:
    case Bound::Sync:
      return terminal.red(text);
    case Bound::Unexplained:
    case Bound::CpuOnly:
      break;
  }
  return terminal.cyan(text);
}

// Words that are longer than a line are cut.
void add_wrapped(std::string& text, std::string_view what, int columns, std::string_view first,
                 std::string_view others) {
  std::string_view before = first;
  const int available = columns - std::max(columns_of(first), columns_of(others));
  for (const std::string& line : wrapped(printable(what), available)) {
    text += before;
    text += cut_to(line, available);
    text += '\n';
    before = others;
  }
}

// Pairs under one another, in two columns where there are many and both fit; else long values are wrapped.
void add_facts(std::string& text, const std::vector<Fact>& facts, const Terminal& terminal) {
  std::vector<std::pair<std::string, std::string>> pairs;
  int label_width = 0, value_width = 0;
  for (const Fact& fact : facts) {
    pairs.emplace_back(printable(fact.label), readable(fact.value, fact.unit));
    label_width = std::max(label_width, columns_of(pairs.back().first));
    value_width = std::max(value_width, columns_of(pairs.back().second));
  }
  label_width = std::min(label_width, terminal.columns / 3);
  const int both = label_width + 2 + value_width;
  if (static_cast<int>(pairs.size()) >= kMinFactsForTwoColumns && 2 * both + 6 <= terminal.columns) {
    const std::size_t lines = (pairs.size() + 1) / 2;
    for (std::size_t i = 0; i < lines; ++i) {
      std::string line = "  " + terminal.dim(pad_right(pairs[i].first, label_width)) + "  ";
      if (i + lines < pairs.size()) {
        const auto& [label, value] = pairs[i + lines];
        line += pad_right(pairs[i].second, value_width) + "    " +
                terminal.dim(pad_right(label, label_width)) + "  " + value;
      } else {
        line += pairs[i].second;
      }
      text += line + '\n';
    }
    return;
  }
  for (const auto& [label, value] : pairs) {
    const int available = std::max(1, terminal.columns - label_width - 4);
    std::string before = "  " + terminal.dim(pad_right(label, label_width)) + "  ";
    for (const std::string& line : wrapped(value, available)) {
      text += before + cut_to(line, available) + '\n';
      before.assign(static_cast<std::size_t>(label_width) + 4, ' ');
    }
  }
}

void add_finding(std::string& text, const Finding& finding, const Terminal& terminal) {
  text += '\n' + terminal.bold(cut_to(printable(finding.title), terminal.columns)) + '\n';
  for (const std::string& sentence : finding.sentences)
    add_wrapped(text, sentence, terminal.columns, "  ", "  ");
  if (!finding.facts.empty()) {
    if (!finding.sentences.empty()) text += '\n';
    add_facts(text, finding.facts, terminal);
  }
  for (const Table& table : finding.tables) {
    const std::vector<std::string> lines = table_lines(table, terminal, terminal.columns - 2);
    if (lines.empty()) continue;
    text += '\n';
    if (!table.title.empty()) text += "  " + cut_to(printable(table.title), terminal.columns - 2) + '\n';
    for (const std::string& line : lines) text += "  " + line + '\n';
  }
}

void add_skipped(std::string& text, const TraceSummary& summary, const Terminal& terminal) {
  if (is_whole(summary)) return;
  text += '\n' + terminal.yellow("Read in part") + '\n';
  if (summary.is_truncated)
    add_wrapped(text, "The file ends before its document does; what follows from the rest is not here.",
                terminal.columns, "  ", "  ");
  if (summary.skipped_count == 0) return;
  add_wrapped(
      text,
      fmt::format("{}, {} in all, could not be read:", count_of(summary.skipped_count, "piece", "pieces"),
                  readable_bytes(summary.skipped_bytes)),
      terminal.columns, "  ", "  ");
  const std::size_t shown = std::min(summary.skipped.size(), kMaxSkipped);
  for (std::size_t i = 0; i < shown; ++i) {
    const Skipped& skipped = summary.skipped[i];
    add_wrapped(text,
                fmt::format("at byte {}, {}: {}", grouped(static_cast<std::int64_t>(skipped.offset)),
                            readable_bytes(skipped.bytes), skipped.reason),
                terminal.columns, "    ", "      ");
  }
  if (shown < summary.skipped_count)
    text += terminal.dim(fmt::format("    … and {} more",
                                     grouped(static_cast<std::int64_t>(summary.skipped_count - shown)))) +
            '\n';
}

void add_expectations(std::string& text, const std::vector<Checked>& expectations, const Terminal& terminal) {
  if (expectations.empty()) return;
  const auto failed = std::ranges::count(expectations, false, &Checked::holds);
  text += '\n' + terminal.bold("Expectations") + '\n';
  int width = 8;
  for (const Checked& checked : expectations)
    width = std::max(width, columns_of(printable(checked.condition)));
  width = std::min(width, terminal.columns / 2);
  text += "  " + terminal.dim(pad_right("expected", width + 2) + "  seen") + '\n';
  for (const Checked& checked : expectations) {
    const std::string mark = checked.holds ? terminal.green("✓") : terminal.red("✗");
    text += "  " + mark + ' ' + pad_right(printable(checked.condition), width) + "  " +
            cut_to(printable(checked.seen), terminal.columns - width - 6) + '\n';
  }
  if (failed != 0)
    text += "  " +
            terminal.red(fmt::format("{} of {} {} not hold", failed, expectations.size(),
                                     failed == 1 ? "does" : "do")) +
            '\n';
}

// Lines that one prescription takes, or none of it.
std::string prescription_lines(const ShownPrescription& p, std::size_t number, const Terminal& terminal) {
  std::string text;
  const std::string first = fmt::format("  {}. ", number), others = "     ";
  add_wrapped(text, p.action, terminal.columns, first, others);
  std::string gain;
  add_wrapped(gain, p.gain, terminal.columns, others, others);
  text += terminal.green(gain.substr(0, gain.size() - 1)) + '\n';
  add_wrapped(text, p.how, terminal.columns, others, others);
  std::string rest = p.where;
  if (!p.needs.empty()) rest += (rest.empty() ? "" : "; ") + p.needs;
  if (rest.empty()) return text;
  std::string where;
  add_wrapped(where, rest, terminal.columns, others, others);
  return text + terminal.dim(where.substr(0, where.size() - 1)) + '\n';
}

std::size_t lines_in(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

// Adds as many as there is space for, and always the first.
void add_prescriptions(std::string& text, std::span<const Finding> findings, const Terminal& terminal,
                       std::size_t max_lines, const Hints& hints) {
  const std::optional<ShownPrescriptions> shown = shown_prescriptions(findings);
  if (!shown) return;
  text += '\n' + terminal.bold("What to do, by predicted gain and how much has to change") + '\n';
  std::string list;
  std::size_t number = 0;
  while (number < shown->list.size()) {
    const std::string lines = prescription_lines(shown->list[number], number + 1, terminal);
    if (number != 0 && lines_in(text) + lines_in(list) + lines_in(lines) > max_lines) break;
    list += lines;
    ++number;
  }
  text += list;
  if (number < shown->list.size())
    text += terminal.dim(fmt::format("     … and {} more with {}", shown->list.size() - number, hints.full)) +
            '\n';
  if (!shown->together.empty()) add_wrapped(text, shown->together, terminal.columns, "  ", "  ");
}

// All prescriptions, then all other findings.
void add_findings(std::string& text, std::span<const Finding> findings, const Terminal& terminal) {
  add_prescriptions(text, findings, terminal, std::numeric_limits<std::size_t>::max(), {});
  for (const Finding& finding : findings) {
    if (finding.key != kPrescriptions) add_finding(text, finding, terminal);
  }
}

// The verdict and all that follows, without the expectations.
void add_full_diagnosis(std::string& text, const Diagnosis& diagnosis, const Terminal& terminal) {
  const Verdict& verdict = diagnosis.verdict;
  text += terminal.bold(colored(verdict.bound, terminal, name(verdict.bound))) + '\n';
  add_wrapped(text, verdict.sentence, terminal.columns, "", "");
  for (const std::string& reason : verdict.reasons)
    add_wrapped(text, reason, terminal.columns, "  • ", "    ");
  text += '\n';
  text += terminal.dim(cut_to(totals_line(diagnosis), terminal.columns)) + '\n';
  add_findings(text, diagnosis.findings, terminal);
  add_skipped(text, diagnosis.summary, terminal);
}

// One screen. Findings that were asked for are shown, too.
void add_short_diagnosis(std::string& text, const Diagnosis& diagnosis, const Terminal& terminal,
                         const Hints& hints) {
  std::string screen;
  const Verdict& verdict = diagnosis.verdict;
  screen += terminal.bold(colored(verdict.bound, terminal, name(verdict.bound))) + '\n';
  add_wrapped(screen, verdict.sentence, terminal.columns, "", "");
  screen += terminal.dim(cut_to(totals_line(diagnosis), terminal.columns)) + '\n';
  if (find_finding(diagnosis.findings, kPrescriptions) == nullptr) {
    for (const std::string& reason : verdict.reasons)
      add_wrapped(screen, reason, terminal.columns, "  • ", "    ");
    screen += "\nThere is nothing to prescribe that would save 2 % of the time or more.\n";
  }
  std::string rest;
  for (const Finding& finding : diagnosis.findings) {
    if (finding.is_asked_for) add_finding(rest, finding, terminal);
  }
  add_skipped(rest, diagnosis.summary, terminal);
  rest += '\n' + terminal.dim(cut_to(hints.line, terminal.columns)) + '\n';
  add_prescriptions(screen, diagnosis.findings, terminal,
                    kMaxShortLines - std::min(kMaxShortLines, lines_in(rest) + 2), hints);
  text += screen + rest;
}

// The folder that all paths have in common, and the slash after it.
std::size_t common_folder(const Report& report) {
  const auto same = [](std::string_view a, std::string_view b) {
    return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
  };
  std::string_view common;
  bool is_first = true;
  const auto take = [&](std::string_view path) {
    common = is_first ? path.substr(0, folder_length(path)) : common.substr(0, same(common, path));
    common = common.substr(0, folder_length(common));
    is_first = false;
  };
  for (const Report::Trace& trace : report.traces) take(trace.diagnosis.path);
  for (const Report::Unread& unread : report.unread) take(unread.path);
  return common.size();
}

Value idle_percent(const Diagnosis& diagnosis) {
  for (const Finding& finding : diagnosis.findings)
    if (finding.key == "device_time")
      for (const Fact& fact : finding.facts)
        if (fact.key == "idle") return fact.value;
  return {};
}

Table summary_table(const Report& report, std::size_t folder) {
  Table table;
  table.columns = {{"file", "file", Unit::None, true},
                   {"verdict", "verdict"},
                   {"kernels", "kernels", Unit::Count},
                   {"idle", "idle", Unit::Percent}};
  bool has_idle = false, has_expectations = false;
  for (const Report::Trace& trace : report.traces) {
    has_idle = has_idle || !std::holds_alternative<std::monostate>(idle_percent(trace.diagnosis));
    has_expectations = has_expectations || !trace.expectations.empty();
  }
  if (!has_idle) table.columns.pop_back();
  if (has_expectations) table.columns.push_back({"holds", "holds"});
  for (const Report::Trace& trace : report.traces) {
    const Diagnosis& diagnosis = trace.diagnosis;
    std::string verdict(name(diagnosis.verdict.bound));
    if (!is_whole(diagnosis.summary)) verdict += ", read in part";
    std::vector<Value> row = {diagnosis.path.substr(folder), verdict,
                              static_cast<std::int64_t>(diagnosis.counts.totals.kernels)};
    if (has_idle) row.push_back(idle_percent(diagnosis));
    if (has_expectations) row.emplace_back(std::ranges::all_of(trace.expectations, &Checked::holds));
    table.rows.push_back(std::move(row));
  }
  for (const Report::Unread& unread : report.unread)
    table.rows.push_back({unread.path.substr(folder), "cannot be read"});
  table.shown = table.rows.size();
  return table;
}

}  // namespace

std::string text_findings(std::string_view sentence, const std::vector<Finding>& findings,
                          const Terminal& terminal) {
  std::string text;
  add_wrapped(text, sentence, terminal.columns, "", "");
  add_findings(text, findings, terminal);
  return text;
}

std::string text_report(const Diagnosis& diagnosis, const Terminal& terminal, Detail detail,
                        const Hints& hints) {
  std::string text;
  if (detail == Detail::Full) {
    add_full_diagnosis(text, diagnosis, terminal);
  } else {
    add_short_diagnosis(text, diagnosis, terminal, hints);
  }
  return text;
}

std::string text_report(const Report& report, const Terminal& terminal, Detail detail, const Hints& hints) {
  std::string text;
  add_findings(text, report.together, terminal);
  const bool has_many = report.traces.size() + report.unread.size() > 1;
  const std::size_t folder = has_many ? common_folder(report) : 0;
  if (has_many) {
    for (const std::string& line : table_lines(summary_table(report, folder), terminal, terminal.columns))
      text += line + '\n';
  }
  for (const Report::Trace& trace : report.traces) {
    if (has_many) {
      const std::string path = cut_to(printable(trace.diagnosis.path.substr(folder)), terminal.columns - 6);
      const int rest = std::max(0, terminal.columns - columns_of(path) - 4);
      std::string line = "── " + path + ' ';
      for (int i = 0; i < rest; ++i) line += "─";
      text += '\n' + terminal.bold(line) + "\n\n";
    }
    text += text_report(trace.diagnosis, terminal, detail, hints);
    add_expectations(text, trace.expectations, terminal);
  }
  return text;
}

}  // namespace pel::doctor
