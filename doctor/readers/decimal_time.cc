#include "doctor/readers/decimal_time.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

namespace pel::doctor {
namespace {

bool is_decimal(char c) { return c >= '0' && c <= '9'; }

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::size_t kSafeDigits = 18;  // so many fit into 63 bits whatever they are

// With three digits after the point, or none, and no sign: all that Kineto writes.
std::optional<std::int64_t> parse_plain(std::string_view text) {
  const char *at = text.data(), *const end = at + text.size();
  std::int64_t number = 0;
  while (at != end && is_decimal(*at)) number = number * 10 + (*at++ - '0');
  if (at == text.data()) return std::nullopt;
  if (at == end) return number > kMax / 1000 ? std::nullopt : std::optional(number * 1000);
  if (*at != '.' || end - at != 4) return std::nullopt;
  for (++at; at != end; ++at) {
    if (!is_decimal(*at)) return std::nullopt;
    number = number * 10 + (*at - '0');
  }
  return number;
}

}  // namespace

std::optional<std::int64_t> parse_integer(std::string_view text) {
  const char *at = text.data(), *const end_of_text = at + text.size();
  if (text.size() <= kSafeDigits && at != end_of_text) {  // nearly all
    const bool is_negative = *at == '-' && text.size() > 1;
    at += is_negative;
    std::int64_t number = 0;
    while (at != end_of_text && is_decimal(*at)) number = number * 10 + (*at++ - '0');
    if (at == end_of_text) return is_negative ? -number : number;
    return std::nullopt;
  }
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> parse_decimal(std::string_view text) {
  if (text.empty() || !(is_decimal(text[0]) || text[0] == '-')) return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::optional<std::int64_t> parse_microseconds(std::string_view text) {
  if (text.size() <= kSafeDigits) [[likely]] {
    if (const auto ns = parse_plain(text)) return ns;
  }
  const bool is_negative = text.starts_with('-');
  if (is_negative) text.remove_prefix(1);

  std::string_view mantissa = text;
  std::int64_t exponent = 3;  // of the last whole digit, in nanoseconds
  if (const std::size_t e = text.find_first_of("eE"); e != std::string_view::npos) {
    mantissa = text.substr(0, e);
    std::string_view power = text.substr(e + 1);
    if (power.starts_with('+')) power.remove_prefix(1);
    const std::optional<std::int64_t> value = parse_integer(power);
    if (!value) return std::nullopt;
    exponent += std::clamp<std::int64_t>(*value, -1000, 1000);
  }
  const std::size_t point = std::min(mantissa.find('.'), mantissa.size());
  std::string_view fraction = mantissa.substr(point);
  if (!fraction.empty()) {
    fraction.remove_prefix(1);
    if (fraction.empty()) return std::nullopt;
  }
  const std::string_view whole = mantissa.substr(0, point);
  if (whole.empty()) return std::nullopt;

  // Digits up to that of one nanosecond; the one after rounds.
  std::int64_t ns = 0;
  std::int64_t place = exponent + static_cast<std::int64_t>(whole.size());  // digits that are still to come
  const auto push = [&](char c) {
    if (!is_decimal(c)) return false;
    const int digit = c - '0';
    if (--place >= 0) {
      if (ns > (kMax - digit) / 10) return false;
      ns = ns * 10 + digit;
    } else if (place == -1 && digit >= 5) {
      if (ns == kMax) return false;
      ++ns;
    }
    return true;
  };
  for (const char c : whole) {
    if (!push(c)) return std::nullopt;
  }
  for (const char c : fraction) {
    if (!push(c)) return std::nullopt;
  }
  for (; place > 0 && ns != 0; --place) {
    if (ns > kMax / 10) return std::nullopt;
    ns *= 10;
  }
  return is_negative ? -ns : ns;
}

}  // namespace pel::doctor
