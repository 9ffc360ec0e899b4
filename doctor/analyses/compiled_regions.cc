#include "doctor/analyses/compiled_regions.h"

#include <charconv>

#include "doctor/model/model.h"

namespace pel::doctor {

static constexpr std::string_view kCompiledRegion = "Torch-Compiled Region: ";

std::optional<std::pair<std::int64_t, std::int64_t>> compiled_region(std::string_view name) {
  if (!name.starts_with(kCompiledRegion)) return std::nullopt;
  name.remove_prefix(kCompiledRegion.size());
  std::int64_t frame, compile;
  const auto [slash, error] = std::from_chars(name.data(), name.data() + name.size(), frame);
  if (error != std::errc() || slash == name.data() + name.size() || *slash != '/') return std::nullopt;
  if (std::from_chars(slash + 1, name.data() + name.size(), compile).ec != std::errc()) return std::nullopt;
  return std::pair(frame, compile);
}

bool compiles_code(std::string_view name) {
  return contains(name, "_compile.compile_inner") || contains(name, "compile_fx.py") ||
         contains(name, "convert_frame.py");
}

}  // namespace pel::doctor
