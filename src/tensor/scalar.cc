#include "pellucid/scalar.h"

#include <ostream>

#include <fmt/format.h>

#include "tensor/convert.h"

namespace pel {

std::int64_t Scalar::to_int() const {
  if (is_symbolic()) return symbol_.value();
  return is_float() ? convert<std::int64_t>(double_) : int_;
}

std::string to_string(const Scalar& scalar) {
  if (scalar.is_symbolic()) return to_string(scalar.dim());
  switch (scalar.kind()) {
    case Scalar::Kind::Bool:
      return scalar.to_bool() ? "true" : "false";
    case Scalar::Kind::Int:
      return std::to_string(scalar.to_int());
    case Scalar::Kind::Float:
      break;
  }
  const std::string text = fmt::format("{}", scalar.to_double());
  return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
}

std::ostream& operator<<(std::ostream& out, const Scalar& scalar) { return out << to_string(scalar); }

}  // namespace pel
