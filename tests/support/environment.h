// Numbers that tests take from the environment.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace pel::test {

inline std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text && *text ? std::strtoull(text, nullptr, 10) : otherwise;
}
// PELLUCID_TEST_SHARE=N: tests with many cases run one in N.
inline std::int64_t test_share() { return static_cast<std::int64_t>(number_from("PELLUCID_TEST_SHARE", 1)); }

}  // namespace pel::test
