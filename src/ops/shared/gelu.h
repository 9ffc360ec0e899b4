// What gelu and gelu_backward share: the number of the formula for an approximation.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/check.h"

namespace pel {

inline std::size_t gelu_formula(std::string_view approximate) {
  PEL_CHECK(approximate == "none" || approximate == "tanh", ValueError,
            "approximate is 'none' or 'tanh', not '{}'", approximate);
  return approximate == "tanh" ? 1 : 0;
}

}  // namespace pel
