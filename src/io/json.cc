#include "io/json.h"

#include "base/check.h"

namespace pel::io {

void parse_json(std::string_view text, std::string_view what, JsonDocument& into) {
  if (text.data() == nullptr)
    text = "";  // an empty file is mapped nowhere, and simdjson copies no bytes from there
  const simdjson::error_code error = into.parser.parse(text.data(), text.size()).get(into.root);
  PEL_CHECK(error == simdjson::SUCCESS, FileError, "{} is not valid JSON: {}", what,
            simdjson::error_message(error));
}

}  // namespace pel::io
