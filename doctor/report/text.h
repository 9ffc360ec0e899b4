// A report for a terminal: the verdict first, then what to do, then what was found.
#pragma once

#include <string>

#include "base/terminal.h"
#include "doctor/report/report.h"

namespace pel::doctor {

enum class Detail : std::uint8_t {
  Short,  // the verdict, totals and what to do: one screen
  Full,   // and all findings
};

// No line is wider than the terminal. Whatever stands in the trace is made printable.
std::string text_report(const Diagnosis& diagnosis, const Terminal& terminal, Detail detail);

// Of several traces: a table of all, then each under its name.
std::string text_report(const Report& report, const Terminal& terminal, Detail detail);

}  // namespace pel::doctor
