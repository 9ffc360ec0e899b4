// Durations as people write them: 15us, 8µs, 120ns, 1.5ms, 2s.
#pragma once

#include <optional>
#include <string_view>

namespace pel::inspect {

std::optional<double> parse_duration_ns(std::string_view text);  // none: not a duration, or below 0

}  // namespace pel::inspect
