// Source locations of code that no C++ compiler sees, such as lines of Python.
#pragma once

#include <cstdint>
#include <string_view>

#include "pellucid/api.h"

namespace pel {

// A Site with this file and line. Each pair is stored once, for as long as the process lives.
PEL_API Site make_site(std::string_view file, std::uint32_t line);

}  // namespace pel
