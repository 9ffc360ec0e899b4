// Names of folders that engines understand as values: date=2026-11-17/job=llama%207B.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace pel::fleet {

// A text as part of a folder's name, and back.
std::string as_partition(std::string_view text);
std::string text_of_partition(std::string_view name);

// The day of nanoseconds since 1970, in UTC; empty: before 2000, so they do not count from there.
std::string date_of(std::int64_t ns);
// When a day begins, in seconds since 1970; -1: the text is not a day.
std::int64_t seconds_of_date(std::string_view date);

}  // namespace pel::fleet
