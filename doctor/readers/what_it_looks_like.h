// What a file that is not a trace seems to be, by its first bytes and its name, and what to do about it.
#pragma once

#include <string>
#include <string_view>

namespace pel::doctor {

inline constexpr std::size_t kLookedAtBytes = std::size_t{64} << 10;

// "run.csv is not a trace: it looks like …. Record a trace: …"; `name` is as the user wrote it, and
// `first_bytes` are those of the decompressed file.
std::string not_a_trace(std::string_view name, std::string_view first_bytes);

bool is_directory(const std::string& path);
// What is wrong with a directory in place of a trace: names the traces inside.
std::string is_a_directory(const std::string& path);

}  // namespace pel::doctor
