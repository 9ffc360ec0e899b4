// What torch.compile leaves in a trace, by the names of spans.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace pel::doctor {

inline constexpr std::string_view kGuardLookup = "TorchDynamo Cache Lookup";

// "Torch-Compiled Region: 3/1" is the second compile of the fourth function: 3 and 1.
std::optional<std::pair<std::int64_t, std::int64_t>> compiled_region(std::string_view name);

bool compiles_code(std::string_view name);

}  // namespace pel::doctor
