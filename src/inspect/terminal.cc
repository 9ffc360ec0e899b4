#include "inspect/terminal.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace pel::inspect {
namespace {

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

std::string cut(std::string_view text, int columns) {
  if (columns_of(text) <= columns) return std::string(text);
  int seen = 0;
  std::size_t end = 0;
  while (end < text.size() && (continues(text[end]) || ++seen < columns)) ++end;
  return std::string(text.substr(0, end)) + "…";
}

}  // namespace

std::string Terminal::marked(std::string_view code, std::string_view text) const {
  return has_color ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
}

int columns_of(std::string_view text) {
  return static_cast<int>(std::count_if(text.begin(), text.end(), [](char c) { return !continues(c); }));
}

std::string pad_right(std::string_view text, int columns) {
  std::string padded = cut(text, columns);
  padded.append(static_cast<std::size_t>(std::max(0, columns - columns_of(padded))), ' ');
  return padded;
}

std::string pad_left(std::string_view text, int columns) {
  const std::string whole = cut(text, columns);
  std::string padded(static_cast<std::size_t>(std::max(0, columns - columns_of(whole))), ' ');
  padded += whole;
  return padded;
}

std::string bar(double share, int columns) {
  constexpr std::array<const char*, 8> kEighths = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const int eighths = static_cast<int>(std::clamp(share, 0.0, 1.0) * columns * 8 + 0.5);
  std::string text;
  for (int i = 0; i < eighths / 8; ++i) text += "█";
  text += kEighths[static_cast<std::size_t>(eighths % 8)];
  return text;
}

}  // namespace pel::inspect
