// What PTX must not have, for the bits of the CPU.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace pel::test {

// Instructions that are approximate, flush denormals, or leave their rounding to the assembler, which may
// then fuse them. Empty: there are none.
inline std::string refused_instructions(std::string_view ptx) {
  std::string found;
  while (!ptx.empty()) {
    const std::size_t end = std::min(ptx.find('\n'), ptx.size());
    std::string_view line = ptx.substr(0, end);
    ptx.remove_prefix(std::min(end + 1, ptx.size()));
    while (!line.empty() && (line.front() == '\t' || line.front() == ' ')) line.remove_prefix(1);
    if (line.starts_with("@") && line.find(' ') != std::string_view::npos) {  // a predicate
      line.remove_prefix(line.find(' '));
      while (line.starts_with(' ') || line.starts_with('\t')) line.remove_prefix(1);
    }
    const std::string_view op = line.substr(0, line.find_first_of(" \t;"));
    const auto has = [&](std::string_view part) { return op.find(part) != std::string_view::npos; };
    const bool is_float = has(".f16") || has(".f32") || has(".f64") || has(".bf16");
    bool is_refused = has(".approx") || has(".ftz");
    for (const std::string_view rounded : {"add.", "sub.", "mul.", "fma.", "mad.", "div.", "sqrt.", "rcp."})
      is_refused = is_refused || (op.starts_with(rounded) && is_float && !has(".rn"));
    if (is_refused) found += std::string(line) + "\n";
  }
  return found;
}

}  // namespace pel::test
