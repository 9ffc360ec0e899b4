// A report for a terminal: the verdict first, then its reasons, then what was found.
#pragma once

#include <string>

#include "base/terminal.h"
#include "doctor/report/report.h"

namespace pel::doctor {

// No line is wider than the terminal. Whatever stands in the trace is made printable.
std::string text_report(const Diagnosis& diagnosis, const Terminal& terminal);

// Of several traces: a table of all, then each under its name.
std::string text_report(const Report& report, const Terminal& terminal);

}  // namespace pel::doctor
