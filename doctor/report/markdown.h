// A report as Markdown, for a comment on a pull request: the verdict, what to do, what changed, expectations.
#pragma once

#include <string>

#include "doctor/report/report.h"

namespace pel::doctor {

// Whatever stands in the trace is made printable, and cannot become markup.
std::string markdown_report(const Report& report);

}  // namespace pel::doctor
