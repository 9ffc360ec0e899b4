// Text for a terminal: colours where they are wanted, widths in columns and not in bytes.
#pragma once

#include <string>
#include <string_view>

#include "base/readable.h"  // IWYU pragma: export

namespace pel::inspect {

struct Terminal {
  bool has_color = false;
  int columns = 100;

  std::string bold(std::string_view text) const { return marked("1", text); }
  std::string dim(std::string_view text) const { return marked("2", text); }
  std::string red(std::string_view text) const { return marked("31", text); }
  std::string green(std::string_view text) const { return marked("32", text); }
  std::string yellow(std::string_view text) const { return marked("33", text); }
  std::string cyan(std::string_view text) const { return marked("36", text); }

 private:
  std::string marked(std::string_view code, std::string_view text) const;
};

int columns_of(std::string_view text);                      // of UTF-8 without marks; a code point is one
std::string pad_right(std::string_view text, int columns);  // cut with … where it is longer
std::string pad_left(std::string_view text, int columns);
std::string bar(double share, int columns);  // ███▌ of at most `columns`

}  // namespace pel::inspect
