// A report for a terminal: the verdict first, then what to do, then what was found.
#pragma once

#include <string>
#include <string_view>

#include "base/terminal.h"
#include "doctor/report/report.h"

namespace pel::doctor {

enum class Detail : std::uint8_t {
  Short,  // the verdict, totals and what to do: one screen
  Full,   // and all findings
};

// How a reader of a short report gets the rest.
struct Hints {
  std::string_view full = "--full";
  std::string_view line =
      "--full shows every finding, --html FILE writes a page with a timeline, --json data.";
};

// No line is wider than the terminal. Whatever stands in the trace is made printable.
std::string text_report(const Diagnosis& diagnosis, const Terminal& terminal, Detail detail,
                        const Hints& hints = {});

// Of several traces: a table of all, then each under its name.
std::string text_report(const Report& report, const Terminal& terminal, Detail detail,
                        const Hints& hints = {});

}  // namespace pel::doctor
