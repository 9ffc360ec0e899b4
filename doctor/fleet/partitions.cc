#include "doctor/fleet/partitions.h"

#include <charconv>
#include <chrono>

#include <fmt/format.h>

namespace pel::fleet {
namespace {

// A number of digits alone; -1: something else is there.
int number_in(std::string_view digits, int base = 10) {
  int number = -1;
  const auto [end, wrong] = std::from_chars(digits.data(), digits.data() + digits.size(), number, base);
  return wrong == std::errc() && end == digits.data() + digits.size() ? number : -1;
}

}  // namespace

std::string as_partition(std::string_view text) {
  std::string name;
  for (const char c : text) {
    const bool is_plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          c == '-' || c == '_' || c == '.';
    name += is_plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return name;
}

std::string text_of_partition(std::string_view name) {
  std::string text;
  for (std::size_t at = 0; at < name.size(); ++at) {
    const int byte = name[at] == '%' && at + 2 < name.size() ? number_in(name.substr(at + 1, 2), 16) : -1;
    text += byte < 0 ? name[at] : static_cast<char>(byte);
    if (byte >= 0) at += 2;
  }
  return text;
}

std::string date_of(std::int64_t ns) {
  const auto day = std::chrono::floor<std::chrono::days>(
      std::chrono::sys_time<std::chrono::nanoseconds>(std::chrono::nanoseconds(ns)));
  const std::chrono::year_month_day date(day);
  if (int{date.year()} < 2000) return "";
  return fmt::format("{:04}-{:02}-{:02}", int{date.year()}, unsigned{date.month()}, unsigned{date.day()});
}

std::int64_t seconds_of_date(std::string_view date) {
  if (date.size() != 10 || date[4] != '-' || date[7] != '-') return -1;
  const int year = number_in(date.substr(0, 4)), month = number_in(date.substr(5, 2)),
            day = number_in(date.substr(8, 2));
  if (year < 0 || month < 0 || day < 0) return -1;
  const std::chrono::year_month_day known{std::chrono::year(year),
                                          std::chrono::month(static_cast<unsigned>(month)),
                                          std::chrono::day(static_cast<unsigned>(day))};
  if (!known.ok()) return -1;
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::sys_days(known).time_since_epoch())
      .count();
}

}  // namespace pel::fleet
