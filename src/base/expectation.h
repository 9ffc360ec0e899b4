// The small language of expectations: "kernels == 5; gemm == 3; 'gelu' >= 1; bytes <= 4.2M".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pel {

enum class Comparison : std::uint8_t { Equal, NotEqual, Less, LessOrEqual, Greater, GreaterOrEqual };

struct Condition {
  std::string text;      // as it was written, without spaces around it
  std::string quantity;  // a word, or what stood between quotes
  bool is_quoted = false;
  Comparison comparison = Comparison::Equal;
  double number = 0;

  bool holds(double seen) const;
};

// A ValueError names the condition that cannot be read, and what it could be. A quantity may be any word.
std::vector<Condition> parse_conditions(std::string_view text);
// A ValueError names the first word that is none of `quantities`, and lists them.
void check_quantities(const std::vector<Condition>& conditions,
                      const std::vector<std::string_view>& quantities);

}  // namespace pel
