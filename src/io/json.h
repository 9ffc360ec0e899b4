// JSON by simdjson, which checks its nesting and its UTF-8.
#pragma once

#include <string_view>

#include <simdjson.h>

namespace pel::io {

struct JsonDocument {
  simdjson::dom::parser parser;  // owns what `root` points into
  simdjson::dom::element root;
};

// A FileError says that `what`, as "the header of model.safetensors", is no JSON, and why.
void parse_json(std::string_view text, std::string_view what, JsonDocument& into);

}  // namespace pel::io
