// Parses JSON with simdjson, which checks nesting and UTF-8.
#pragma once

#include <string_view>

#include <simdjson.h>

namespace pel::io {

struct JsonDocument {
  simdjson::dom::parser parser;  // owns what `root` points into
  simdjson::dom::element root;
};

// Throws a FileError if `what`, such as "the header of model.safetensors", is not valid JSON.
void parse_json(std::string_view text, std::string_view what, JsonDocument& into);

}  // namespace pel::io
