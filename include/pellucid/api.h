// What every public header needs: the export macro and the source location of the caller.
#pragma once

#include <source_location>

// Symbols are hidden unless marked.
#define PEL_API __attribute__((visibility("default")))

namespace pel {

// The source location of a call in the user's code. Public functions take it as a defaulted last argument.
using Site = std::source_location;

}  // namespace pel
