// Prints the records of all built-in ops as JSON, for generate.py. Runs at build time.
#include <cstdio>
#include <string>

#include <pellucid/extend/op.h>

namespace {

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

std::string type_text(const pel::ArgType& type) {
  constexpr const char* kNames[] = {"None", "Tensor", "int",   "Dim",    "float",
                                    "bool", "Scalar", "DType", "Device", "str"};
  return std::string(kNames[static_cast<std::size_t>(type.base)]) + (type.is_list ? "[]" : "") +
         (type.is_optional ? "?" : "");
}

// As Python spells it.
std::string default_text(const pel::Value& value) {
  struct Text {
    std::string operator()(std::monostate) const { return "None"; }
    std::string operator()(const pel::Tensor&) const { return "None"; }
    std::string operator()(const std::vector<pel::Tensor>&) const { return "()"; }
    std::string operator()(pel::Dim dim) const { return pel::to_string(dim); }
    std::string operator()(double number) const {
      char text[32];
      std::snprintf(text, sizeof(text), "%.17g", number);
      for (int digits = 1; digits < 17; ++digits) {  // the shortest that reads back as the same number
        std::snprintf(text, sizeof(text), "%.*g", digits, number);
        if (std::stod(text) == number) break;
      }
      const std::string shortest = text;
      return shortest.find_first_of(".en") == std::string::npos ? shortest + ".0" : shortest;
    }
    std::string operator()(bool is) const { return is ? "True" : "False"; }
    std::string operator()(const pel::Scalar& number) const {
      return number.is_float() ? (*this)(number.to_double()) : std::to_string(number.to_int());
    }
    std::string operator()(pel::DType dtype) const { return std::string(pel::name(dtype)); }
    std::string operator()(pel::Device device) const { return "'" + pel::to_string(device) + "'"; }
    std::string operator()(const std::vector<pel::Dim>& dims) const {
      std::string text = "(";
      for (const pel::Dim dim : dims) text += pel::to_string(dim) + ", ";
      if (dims.size() > 1) text.resize(text.size() - 2);
      if (dims.size() == 1) text.pop_back();
      return text + ")";
    }
    std::string operator()(const std::string& text) const { return "'" + text + "'"; }
  };
  return std::visit(Text(), value);
}

void print_args(const std::vector<pel::SchemaArg>& args) {
  std::printf("[");
  for (std::size_t i = 0; i < args.size(); ++i) {
    std::printf("%s{\"name\": %s, \"type\": %s, \"keyword_only\": %s, \"is_written\": %s, \"default\": %s}",
                i == 0 ? "" : ", ", quoted(args[i].name).c_str(), quoted(type_text(args[i].type)).c_str(),
                args[i].keyword_only ? "true" : "false", args[i].alias.is_written ? "true" : "false",
                args[i].default_value ? quoted(default_text(*args[i].default_value)).c_str() : "null");
  }
  std::printf("]");
}

}  // namespace

int main() {
  std::printf("[\n");
  const std::vector<const pel::Op*> ops = pel::all_ops();
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const pel::Schema& schema = ops[i]->signature();
    std::printf("{\"name\": %s, \"schema\": %s, \"args\": ", quoted(ops[i]->name()).c_str(),
                quoted(ops[i]->schema()).c_str());
    print_args(schema.args);
    std::printf(", \"results\": ");
    print_args(schema.results);
    std::printf("}%s\n", i + 1 < ops.size() ? "," : "");
  }
  std::printf("]\n");
}
