// A table in the columns of a terminal.
#pragma once

#include <string>
#include <vector>

#include "base/terminal.h"
#include "doctor/diagnosis/finding.h"

namespace pel::doctor {

// Lines of at most `columns`: a heading, the rows that are shown, and how many are not. Numbers stand to the
// right. Where it is too wide, wide columns are cut first, then other texts, and the last columns are left
// out. The first Percent column has bars after it if there is space.
std::vector<std::string> table_lines(const Table& table, const Terminal& terminal, int columns);

}  // namespace pel::doctor
