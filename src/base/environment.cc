#include "base/environment.h"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <fmt/format.h>

namespace pel {

std::optional<std::int64_t> byte_count(std::string_view text) {
  std::int64_t number = 0;
  const auto [rest, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit(rest, static_cast<std::size_t>(text.data() + text.size() - rest));
  const int shift = unit.empty() ? 0 : unit == "K" ? 10 : unit == "M" ? 20 : unit == "G" ? 30 : -1;
  if (failure != std::errc() || number < 0 || shift < 0 || number > (INT64_MAX >> shift)) return std::nullopt;
  return number << shift;
}

std::optional<std::int64_t> environment_bytes(const char* variable) {
  const std::string text = environment_text(variable);
  if (text.empty()) return std::nullopt;
  const std::optional<std::int64_t> bytes = byte_count(text);
  if (!bytes)
    log_line("environment",
             fmt::format("{}={} is ignored: expected a byte count such as 4096, 512M or 2G", variable, text));
  return bytes;
}

std::optional<int> environment_count(const char* variable, int max) {
  const char* text = std::getenv(variable);
  if (text == nullptr || *text == '\0') return std::nullopt;
  const std::string_view view(text);
  int number = 0;
  const auto [rest, failure] = std::from_chars(view.data(), view.data() + view.size(), number);
  if (failure != std::errc() || rest != view.data() + view.size() || number < 1 || number > max) {
    log_line("environment",
             fmt::format("{}={} is ignored: expected a number from 1 to {}", variable, text, max));
    return std::nullopt;
  }
  return number;
}

std::string environment_text(const char* variable) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? "" : text;
}

std::string user_cache_folder() {
  std::string cache = environment_text("XDG_CACHE_HOME");
  if (const std::string home = environment_text("HOME"); cache.empty() && !home.empty())
    cache = home + "/.cache";
  return cache.empty() ? "" : cache + "/pellucid";
}

bool log_wants(std::string_view topic) {
  const char* const text = std::getenv("PELLUCID_LOG");
  std::string_view list = text == nullptr ? "" : text;
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    if (list.substr(0, comma) == topic) return true;
    if (comma == std::string_view::npos) break;
    list.remove_prefix(comma + 1);
  }
  return false;
}

void log_line(std::string_view topic, std::string_view text) {
  const std::string line = fmt::format("[{}] {}\n", topic, text);
  std::fwrite(line.data(), 1, line.size(), stderr);  // one call: stdio locks the stream
}

}  // namespace pel
