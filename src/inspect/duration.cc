#include "inspect/duration.h"

#include <array>
#include <charconv>
#include <cmath>

namespace pel::inspect {
namespace {

struct Unit {
  std::string_view name;
  double ns;
};
// Unicode has two signs for micro, the unit's and the Greek letter; keyboards produce either.
constexpr std::array<Unit, 6> kUnits = {
    {{"ns", 1}, {"us", 1e3}, {"\u00b5s", 1e3}, {"\u03bcs", 1e3}, {"ms", 1e6}, {"s", 1e9}}};

}  // namespace

std::optional<double> parse_duration_ns(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || !std::isfinite(number) || number < 0) return std::nullopt;
  std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  if (unit.starts_with(' ')) unit.remove_prefix(1);
  for (const Unit& known : kUnits) {
    if (unit == known.name) return number * known.ns;
  }
  return std::nullopt;
}

}  // namespace pel::inspect
