#include "doctor/names/mangled.h"

#include <algorithm>

#include "doctor/names/name_text.h"

namespace pel::doctor::names {
namespace {

constexpr int kMaxMangledNesting = 64;

struct Builtin {
  char letter;
  std::string_view type;
};
constexpr Builtin kBuiltins[] = {
    {'v', "void"},          {'b', "bool"},   {'c', "char"},           {'a', "signed char"},
    {'h', "unsigned char"}, {'s', "short"},  {'t', "unsigned short"}, {'i', "int"},
    {'j', "unsigned int"},  {'l', "long"},   {'m', "unsigned long"},  {'x', "long long"},
    {'f', "float"},         {'d', "double"}, {'e', "long double"},    {'y', "unsigned long long"}};

class MangledReader {
 public:
  explicit MangledReader(std::string_view text) : text_(text) {}

  std::string read() {
    skip("_Z");
    if (!name(0)) rest();
    return std::move(out_);
  }

 private:
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool skip(std::string_view piece) {
    if (!text_.substr(at_).starts_with(piece)) return false;
    at_ += piece.size();
    return true;
  }

  bool name(int depth) {
    if (peek() == 'N') return nested(depth);
    skip("L");
    if (!identifier()) return false;
    return peek() != 'I' || arguments(depth);
  }

  bool nested(int depth) {
    ++at_;
    while (peek() == 'r' || peek() == 'V' || peek() == 'K') ++at_;
    const std::size_t begin = out_.size();
    while (peek() != 'E') {
      if (peek() == 'I') {
        if (!arguments(depth)) return false;
        continue;
      }
      if (out_.size() > begin) out_ += "::";
      if (peek() == 'S' || peek() == 'T') {
        if (!reference()) return false;
      } else {
        skip("L");
        if (!identifier()) return false;
      }
    }
    ++at_;
    return true;
  }

  bool identifier() {
    const std::string_view digits = leading_digits(text_.substr(at_));
    const std::optional<int> length = number(digits);
    if (!length || *length == 0) return false;
    at_ += digits.size();
    const std::string_view id = text_.substr(at_, static_cast<std::size_t>(*length));
    at_ += id.size();
    out_ += id.starts_with("_GLOBAL__N_") ? "(anonymous namespace)" : id;
    return true;
  }

  bool reference() {  // S_, S4_, St, T_, T0_
    const bool is_substitution = peek() == 'S';
    ++at_;
    if (is_substitution && std::islower(static_cast<unsigned char>(peek())) != 0) {
      out_ += peek() == 't' ? "std" : "_";
      ++at_;
      return true;
    }
    while (std::isalnum(static_cast<unsigned char>(peek())) != 0) ++at_;
    out_ += '_';
    return skip("_");
  }

  bool arguments(int depth) {
    if (depth > kMaxMangledNesting) return false;
    ++at_;
    out_ += '<';
    if (!list(depth)) return false;
    out_ += '>';
    return true;
  }

  bool list(int depth) {
    for (bool is_first = true; peek() != 'E'; is_first = false) {
      if (!is_first) out_ += ", ";
      if (!argument(depth + 1)) return false;
    }
    ++at_;
    return true;
  }

  bool argument(int depth) {
    if (depth > kMaxMangledNesting) return false;
    if (skip("Tn")) {  // the type of the parameter, before the argument itself
      const std::size_t size = out_.size();
      if (!type(depth)) return false;
      out_.resize(size);
    }
    if (peek() == 'L') return literal(depth);
    if (skip("J")) return list(depth);
    return type(depth);
  }

  bool literal(int depth) {
    ++at_;
    if (peek() == '_') return false;
    const bool is_bool = peek() == 'b';
    const std::size_t size = out_.size();
    if (!type(depth)) return false;
    out_.resize(size);
    const std::size_t end = text_.find('E', at_);
    if (end == std::string_view::npos) return false;
    std::string_view value = text_.substr(at_, end - at_);
    at_ = end + 1;
    if (is_bool) value = value == "0" ? "false" : "true";
    if (value.starts_with('n')) {
      out_ += '-';
      value.remove_prefix(1);
    }
    out_ += value;
    return true;
  }

  bool type(int depth) {
    if (depth > kMaxMangledNesting) return false;
    if (skip("P")) return type(depth + 1) && add("*");
    if (skip("R") || skip("O")) return type(depth + 1) && add("&");
    if (skip("K")) return type(depth + 1) && add(" const");
    if (skip("V")) return type(depth + 1);
    if (skip("DF16b")) return add("__bf16");
    if (skip("DF16_") || skip("Dh")) return add("_Float16");
    if (skip("Dn")) return add("decltype(nullptr)");
    if (skip("Dp")) return type(depth + 1);
    if (skip("F")) return add("(") && list(depth) && add(")");
    if (peek() == 'N') return nested(depth);
    if (peek() == 'S' || peek() == 'T') {
      const bool is_std = skip("St");
      if (is_std ? !(add("std::") && identifier()) : !reference()) return false;
      return peek() != 'I' || arguments(depth);
    }
    const auto builtin = std::ranges::find(kBuiltins, peek(), &Builtin::letter);
    if (builtin != std::end(kBuiltins)) {
      ++at_;
      return add(builtin->type);
    }
    return name(depth);
  }

  bool add(std::string_view piece) {
    out_ += piece;
    return true;
  }

  void rest() {
    while (at_ < text_.size()) {
      const std::string_view digits = leading_digits(text_.substr(at_));
      const std::size_t length = static_cast<std::size_t>(std::max(0, leading_number(digits)));
      const std::string_view id = text_.substr(at_ + digits.size(), length);
      if (id.size() > 1 && id.size() == length &&
          (std::isalpha(static_cast<unsigned char>(id[0])) != 0 || id[0] == '_')) {
        out_ += ", ";
        out_ += id;
        at_ += digits.size() + length;
      } else {
        at_ += std::max<std::size_t>(1, digits.size());
      }
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string out_;
};

}  // namespace

std::string readable_mangled(std::string_view mangled) { return MangledReader(mangled).read(); }

}  // namespace pel::doctor::names
