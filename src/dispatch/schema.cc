#include "dispatch/schema.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/check.h"

namespace pel {
namespace {

struct BaseName {
  const char* text;
  ArgType::Base base;
};
constexpr std::array<BaseName, 9> kBaseNames = {{{"Tensor", ArgType::Base::Tensor},
                                                 {"int", ArgType::Base::Int},
                                                 {"Dim", ArgType::Base::Dim},
                                                 {"float", ArgType::Base::Float},
                                                 {"bool", ArgType::Base::Bool},
                                                 {"Scalar", ArgType::Base::Scalar},
                                                 {"DType", ArgType::Base::DType},
                                                 {"Device", ArgType::Base::Device},
                                                 {"str", ArgType::Base::String}}};

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text), rest_(text) {}

  Schema parse() {
    Schema schema;
    schema.op_name = word();
    while (take("::")) schema.op_name += "::" + word();
    if (take(".")) schema.op_name += "." + word();
    expect("(");
    bool keyword_only = false;
    for (bool first = true; !take(")"); first = false) {
      if (!first) expect(",");
      if (take("*")) {
        keyword_only = true;
        continue;
      }
      SchemaArg arg = typed();
      arg.name = word();
      arg.keyword_only = keyword_only;
      if (take("=")) arg.default_value = value(arg.type);
      schema.args.push_back(std::move(arg));
    }
    expect("->");
    if (take("(")) {
      while (!take(")")) {
        if (!schema.results.empty()) expect(",");
        schema.results.push_back(typed());
      }
    } else {
      schema.results.push_back(typed());
    }
    check(rest().empty(), "the end");
    return schema;
  }

 private:
  std::string_view rest() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(' '), rest_.size()));
    return rest_;
  }
  bool take(std::string_view token) {
    if (!rest().starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }
  void check(bool ok, std::string_view wanted) {
    PEL_CHECK(ok, RegistryError, "schema \"{}\": expected {} at \"{}\"", text_, wanted, rest_);
  }
  void expect(std::string_view token) { check(take(token), token); }
  std::string word() {
    const std::string_view from = rest();
    std::size_t n = 0;
    while (n < from.size() && (std::isalnum(static_cast<unsigned char>(from[n])) || from[n] == '_')) ++n;
    check(n > 0, "a name");
    rest_.remove_prefix(n);
    return std::string(from.substr(0, n));
  }

  SchemaArg typed() {
    SchemaArg arg;
    const std::string base = word();
    const auto found =
        std::find_if(kBaseNames.begin(), kBaseNames.end(), [&](const BaseName& b) { return b.text == base; });
    check(found != kBaseNames.end(), "a type before");
    arg.type.base = found->base;
    if (arg.type.base == ArgType::Base::Tensor && take("(")) {
      arg.alias.set = word().front();
      arg.alias.is_written = take("!");
      expect(")");
    }
    arg.type.is_list = take("[]");
    arg.type.is_optional = take("?");
    return arg;
  }

  Value value(const ArgType& type) {
    if (take("None")) {
      check(type.is_optional, "an optional type before None");
      return {};
    }
    if (take("[")) {
      std::vector<Dim> list;
      while (!take("]")) {
        if (!list.empty()) expect(",");
        list.push_back(static_cast<std::int64_t>(number()));
      }
      return list;
    }
    if (take("'")) {
      const std::size_t length = rest_.find('\'');
      check(length != std::string_view::npos, "a closing '");
      std::string text(rest_.substr(0, length));
      rest_.remove_prefix(length + 1);
      return text;
    }
    if (take("True")) return true;
    if (take("False")) return false;
    const double v = number();
    if (type.base == ArgType::Base::Float) return v;
    if (type.base == ArgType::Base::Scalar) {
      return v == static_cast<double>(static_cast<std::int64_t>(v)) ? Scalar(static_cast<std::int64_t>(v))
                                                                    : Scalar(v);
    }
    return Dim(static_cast<std::int64_t>(v));
  }
  double number() {
    double v = 0;
    const std::string_view from = rest();
    const auto [end, failure] = std::from_chars(from.data(), from.data() + from.size(), v);
    check(failure == std::errc(), "a number");
    rest_.remove_prefix(static_cast<std::size_t>(end - from.data()));
    return v;
  }

  std::string_view text_, rest_;
};

std::string to_string(const SchemaArg& arg) {
  std::string text;
  ArgType base = arg.type;
  base.is_list = base.is_optional = false;
  text += pel::to_string(base);
  if (arg.alias.set) text += fmt::format("({}{})", arg.alias.set, arg.alias.is_written ? "!" : "");
  if (arg.type.is_list) text += "[]";
  if (arg.type.is_optional) text += "?";
  if (!arg.name.empty()) text += " " + arg.name;
  if (arg.default_value) {
    const bool is_none = std::holds_alternative<std::monostate>(*arg.default_value);
    const bool* flag = std::get_if<bool>(&*arg.default_value);
    const std::string* word = std::get_if<std::string>(&*arg.default_value);
    text += "=" + (is_none ? "None"
                   : flag  ? (*flag ? "True" : "False")
                   : word  ? "'" + *word + "'"
                           : pel::to_string(*arg.default_value));
  }
  return text;
}

}  // namespace

Schema parse_schema(std::string_view text) { return Parser(text).parse(); }

std::string to_string(const ArgType& type) {
  std::string text = "?";
  for (const BaseName& b : kBaseNames) {
    if (b.base == type.base) text = b.text;
  }
  return text + (type.is_list ? "[]" : "") + (type.is_optional ? "?" : "");
}

std::string to_string(const Schema& schema) {
  std::string text = schema.op_name + "(";
  bool star = false;
  for (std::size_t i = 0; i < schema.args.size(); ++i) {
    if (i) text += ", ";
    if (schema.args[i].keyword_only && !star) {
      star = true;
      text += "*, ";
    }
    text += to_string(schema.args[i]);
  }
  text += ") -> ";
  if (schema.results.size() == 1) return text + to_string(schema.results[0]);
  text += "(";
  for (std::size_t i = 0; i < schema.results.size(); ++i)
    text += (i ? ", " : "") + to_string(schema.results[i]);
  return text + ")";
}

}  // namespace pel
