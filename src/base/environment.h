// Settings from environment variables. Read at start; nothing on a hot path asks again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pel {

// A byte count such as "512M", "2G" or "4096".
std::optional<std::int64_t> byte_count(std::string_view text);
// The value of a variable as a byte count. A value that is none of these is reported on stderr and
// ignored.
std::optional<std::int64_t> environment_bytes(const char* variable);
// A whole number from 1 to `max`, likewise.
std::optional<int> environment_count(const char* variable, int max);

// The value of a variable; empty if it is not set.
std::string environment_text(const char* variable);
// The folder `pellucid` in the user's cache directory; empty if there is none.
std::string user_cache_folder();

// Whether `topic` is in the comma-separated list PELLUCID_LOG.
bool log_wants(std::string_view topic);
// Writes one line to stderr: "[topic] text". Lines of different threads do not mix.
void log_line(std::string_view topic, std::string_view text);

}  // namespace pel
