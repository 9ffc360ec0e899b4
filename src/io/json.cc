#include "io/json.h"

#include "base/check.h"

namespace pel::io {

void parse_json(std::string_view text, std::string_view what, JsonDocument& into) {
  const simdjson::error_code error = into.parser.parse(text.data(), text.size()).get(into.root);
  PEL_CHECK(error == simdjson::SUCCESS, FileError, "{} is not valid JSON: {}", what,
            simdjson::error_message(error));
}

}  // namespace pel::io
