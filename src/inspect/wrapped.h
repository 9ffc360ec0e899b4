// Text in lines of a terminal's width.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pel::inspect {

// Breaks at spaces; lines after the first are indented. A word that is longer than a line stands alone.
std::vector<std::string> wrapped(std::string_view text, int columns, int indent = 0);

}  // namespace pel::inspect
