#include "doctor/report/report.h"

#include <algorithm>

#include <fmt/ranges.h>

#include "base/check.h"

namespace pel::doctor {

bool is_whole(const TraceSummary& summary) { return !summary.is_truncated && summary.skipped_count == 0; }

bool Report::all_hold() const {
  return std::ranges::all_of(
      traces, [](const Trace& trace) { return std::ranges::all_of(trace.expectations, &Checked::holds); });
}

bool Report::is_whole() const {
  return unread.empty() && std::ranges::all_of(traces, [](const Trace& trace) {
           return doctor::is_whole(trace.diagnosis.summary);
         });
}

void keep_only(Report& report, const std::vector<std::string>& keys,
               const std::vector<std::string_view>& known) {
  for (const std::string& key : keys)
    PEL_CHECK(std::ranges::find(known, key) != known.end(), ValueError,
              "there is no finding '{}'; the findings are {}", key, fmt::join(known, ", "));
  for (Report::Trace& trace : report.traces) {
    for (Finding& finding : trace.diagnosis.findings) finding.is_asked_for = true;
    std::erase_if(trace.diagnosis.findings,
                  [&](const Finding& finding) { return std::ranges::find(keys, finding.key) == keys.end(); });
  }
}

void show_rows(Report& report, std::size_t rows) {
  for (Finding& finding : report.together)
    for (Table& table : finding.tables) table.shown = rows;
  for (Report::Trace& trace : report.traces)
    for (Finding& finding : trace.diagnosis.findings)
      for (Table& table : finding.tables) table.shown = rows;
}

}  // namespace pel::doctor
