// The first stage of simdjson for targets for which simdjson has no SIMD code, among them WebAssembly.
// simdjson's own version for these is another algorithm, which answers otherwise on broken text: it names
// other errors, and breaks off elsewhere. This one returns the answers of the versions with SIMD, byte for
// byte, so that a report does not depend on the processor.
#pragma once

#include <string_view>

#include <simdjson.h>

namespace pel::doctor {

// Stores the positions of all brackets, commas, colons and first bytes of values in `into`, whose capacity is
// at least the length of the text.
simdjson::error_code find_structure(std::string_view text,
                                    simdjson::internal::dom_parser_implementation& into);

}  // namespace pel::doctor
