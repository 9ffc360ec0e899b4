// Writes JSON piece by piece, and knows where commas stand.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pel::inspect {

class JsonWriter {
 public:
  // Every document has a schema with its version, such as "pellucid.ops/1": it changes where a reader would
  // break.
  explicit JsonWriter(std::string_view schema) {
    begin('{');
    field("schema", schema);
  }

  JsonWriter& key(std::string_view name);
  JsonWriter& begin_object() { return begin('{'); }
  JsonWriter& end_object() { return end('}'); }
  JsonWriter& begin_array() { return begin('['); }
  JsonWriter& end_array() { return end(']'); }
  JsonWriter& value(std::string_view text);
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(double number);  // not finite: null
  JsonWriter& value(bool fact);
  template <std::integral T>
  JsonWriter& value(T number) {
    return raw(std::to_string(number));
  }
  JsonWriter& null() { return raw("null"); }
  JsonWriter& raw(std::string_view json);  // a value that is JSON already

  template <class T>
  JsonWriter& field(std::string_view name, const T& v) {
    return key(name).value(v);
  }

  std::string finish();  // closes the document, and ends the line

 private:
  JsonWriter& begin(char bracket);
  JsonWriter& end(char bracket);
  void separate();
  std::string text_;
  std::vector<char> open_;
  bool is_first_ = true, follows_key_ = false;
};

}  // namespace pel::inspect
