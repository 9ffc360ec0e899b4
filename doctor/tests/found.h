// A finding of a small trace, and its numbers.
#pragma once

#include <cmath>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "doctor/diagnosis/diagnose.h"
#include "doctor/diagnosis/examination.h"
#include "doctor/report/readable_value.h"
#include "doctor/tests/trace_text.h"

namespace pel::test {

// Empty: there is none.
inline doctor::Finding found_in(const TraceText& trace, std::string_view key) {
  TextSource source(trace.text(), 1000);
  const doctor::Diagnosis diagnosis = diagnose(doctor::Examination(source));
  for (const doctor::Finding& finding : diagnosis.findings) {
    if (finding.key == key) return finding;
  }
  return {};
}

// NaN: not known, or not there.
inline double number_at(const doctor::Finding& finding, std::string_view fact) {
  for (const doctor::Fact& known : finding.facts) {
    if (known.key == fact) return doctor::number_of(known.value);
  }
  ADD_FAILURE() << "there is no fact " << fact;
  return std::nan("");
}

inline doctor::Value value_at(const doctor::Finding& finding, std::string_view table, std::size_t row,
                              std::string_view column) {
  for (const doctor::Table& known : finding.tables) {
    if (known.key != table || row >= known.rows.size()) continue;
    for (std::size_t i = 0; i < known.columns.size(); ++i) {
      if (known.columns[i].key == column) return known.rows[row][i];
    }
  }
  ADD_FAILURE() << "there is no row " << row << " with " << column << " in a table " << table;
  return {};
}
inline double number_at(const doctor::Finding& finding, std::string_view table, std::size_t row,
                        std::string_view column) {
  return doctor::number_of(value_at(finding, table, row, column));
}
inline std::string text_at(const doctor::Finding& finding, std::string_view table, std::size_t row,
                           std::string_view column) {
  const doctor::Value value = value_at(finding, table, row, column);
  const auto* text = std::get_if<std::string>(&value);
  return text == nullptr ? std::string() : *text;
}

}  // namespace pel::test
