#include "doctor/report/readable_value.h"

#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "base/readable.h"
#include "base/terminal.h"

namespace pel::doctor {
namespace {

constexpr const char* kUnknown = "–";

std::string with_sign(double number, std::string (*of_size)(double)) {
  return number < 0 ? "-" + of_size(-number) : of_size(number);
}

std::string readable_flops(double flops) {
  if (flops < 999.5e9) return scaled_by_1000(flops, {"FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP"});
  return scaled_by_1000(flops / 1e9, {"GFLOP", "TFLOP", "PFLOP", "EFLOP", "ZFLOP"});
}

// A whole number has no point.
std::string plain(double number) {
  if (std::abs(number) < 1e15 && number == std::floor(number)) return fmt::format("{:.0f}", number);
  return fmt::format("{:.3g}", number);
}

std::string readable_number(double number, Unit unit) {
  if (!std::isfinite(number)) return kUnknown;
  switch (unit) {
    case Unit::Nanoseconds:
      return with_sign(number, readable_ns<double>);
    case Unit::Bytes:
      return with_sign(number, readable_bytes<double>);
    case Unit::BytesPerSecond:
      return with_sign(number, readable_bytes<double>) + "/s";
    case Unit::Flops:
      return with_sign(number, readable_flops);
    case Unit::FlopsPerSecond:
      return with_sign(number, readable_flops) + "/s";
    case Unit::Percent:
      return fmt::format("{:.1f} %", number);
    case Unit::Count:
      if (std::abs(number) < 1e15 && number == std::floor(number))
        return grouped(static_cast<std::int64_t>(number));
      return fmt::format("{:.1f}", number);
    case Unit::None:
      return plain(number);
  }
  return kUnknown;
}

}  // namespace

std::string grouped(std::int64_t number) {
  const std::string digits = fmt::format("{}", number);
  const std::size_t first = digits[0] == '-' ? 1 : 0;
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > first && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

double number_of(const Value& value) {
  if (const auto* fact = std::get_if<bool>(&value)) return *fact ? 1 : 0;
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  if (const auto* number = std::get_if<double>(&value)) return *number;
  return std::numeric_limits<double>::quiet_NaN();
}

std::string readable(const Value& value, Unit unit) {
  if (const auto* text = std::get_if<std::string>(&value)) return printable(*text);
  if (const auto* fact = std::get_if<bool>(&value)) return *fact ? "yes" : "no";
  if (const auto* whole = std::get_if<std::int64_t>(&value)) {
    if (unit == Unit::Count) return grouped(*whole);
    if (unit == Unit::None) return fmt::format("{}", *whole);
  }
  return readable_number(number_of(value), unit);
}

}  // namespace pel::doctor
