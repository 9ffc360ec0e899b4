#include "backends/cuda/table_form.h"

#include <algorithm>
#include <cctype>
#include <string_view>

#include <fmt/format.h>

namespace pel::cuda {
namespace {

std::string_view without_spaces(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) text.remove_suffix(1);
  return text;
}

// The next word of a line, which is removed from it.
std::string_view take_word(std::string_view& line) {
  line = without_spaces(line);
  std::size_t size = 0;
  while (size < line.size() && std::isspace(static_cast<unsigned char>(line[size])) == 0) ++size;
  const std::string_view word = line.substr(0, size);
  line.remove_prefix(size);
  return word;
}

// The number of the parameter of `kernel` that the line names, from `from` on; none: there is none.
std::optional<std::size_t> parameter_in(std::string_view line, std::string_view prefix) {
  const std::size_t at = line.find(prefix);
  if (at == std::string_view::npos) return std::nullopt;
  std::size_t number = 0;
  for (std::size_t i = at + prefix.size();
       i < line.size() && std::isdigit(static_cast<unsigned char>(line[i])) != 0; ++i)
    number = 10 * number + static_cast<std::size_t>(line[i] - '0');
  return number;
}

}  // namespace

std::optional<std::string> with_address_table(const std::string& ptx, const std::string& kernel,
                                              std::size_t addresses) {
  const std::string prefix = kernel + "_param_";
  std::string text;
  text.reserve(ptx.size() + 64 * addresses);
  for (std::size_t begin = 0; begin < ptx.size();) {
    const std::size_t end = std::min(ptx.find('\n', begin), ptx.size());
    const std::string_view line(ptx.data() + begin, end - begin);
    begin = end + 1;
    text.append(line).push_back('\n');
    const std::optional<std::size_t> number = parameter_in(line, prefix);
    if (!number || *number >= addresses) continue;
    std::string_view rest = line;
    std::string_view word = take_word(rest), guard;
    if (word == ".param") continue;  // its declaration
    if (word.starts_with("@")) {
      guard = word;
      word = take_word(rest);
    }
    const std::string_view to = take_word(rest);
    if ((word != "ld.param.u64" && word != "ld.param.b64") || !to.starts_with("%") || !to.ends_with(",") ||
        without_spaces(rest) != fmt::format("[{}{}];", prefix, *number))
      return std::nullopt;
    const std::string_view loaded = to.substr(0, to.size() - 1);
    text += fmt::format("\t{}{}ld.u64 {}, [{}];\n", guard, guard.empty() ? "" : " ", loaded, loaded);
  }
  return text;
}

}  // namespace pel::cuda
