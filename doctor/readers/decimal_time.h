// Times of a trace: microseconds in decimal text, as whole nanoseconds.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace pel::doctor {

// 1234.567 is 1234567, 1.5e3 is 1500000. Digits after the third are rounded, halves away from zero. Never
// through a double: microseconds since 1970 leave it a quarter of one. Nothing: no number, or beyond 292
// years.
std::optional<std::int64_t> parse_microseconds(std::string_view text);

// A JSON number without fraction and exponent.
std::optional<std::int64_t> parse_integer(std::string_view text);
// Any JSON number that is finite.
std::optional<double> parse_decimal(std::string_view text);

}  // namespace pel::doctor
