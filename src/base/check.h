// The two checks. Rule: an error that a user's input can cause is PEL_CHECK; if deleting the line changes
// nothing a user could see, it is PEL_ASSERT.
#pragma once

#include <string_view>

#include <fmt/format.h>

#include "pellucid/error.h"

// PEL_CHECK(k_a == k_b, ShapeError, "inner sizes differ: {} and {}", k_a, k_b)
// The message states the rule and the values; dispatch adds the op's name and the caller's source location.
#define PEL_CHECK(condition, ErrorType, ...)                                                  \
  do {                                                                                        \
    if (!(condition)) [[unlikely]]                                                            \
      [&]() __attribute__((noinline, cold)) { throw ErrorType(fmt::format(__VA_ARGS__)); }(); \
  } while (false)

#define PEL_ASSERT(condition, why)                                                          \
  do {                                                                                      \
    if (!(condition)) [[unlikely]]                                                          \
      throw ::pel::InternalError(                                                           \
          fmt::format("{}:{}: {} does not hold: {}", __FILE__, __LINE__, #condition, why)); \
  } while (false)

namespace pel {

// Runs a public function that is not an op; an error gets its name and the caller's source location, as
// dispatch does for ops.
template <class F>
decltype(auto) as_call(std::string_view name, const Site& site, F&& body) {
  try {
    return body();
  } catch (Error& error) {
    error.leave_call(name, site);
    throw;
  }
}

}  // namespace pel
