#include "torch/size_expression.h"

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include <nanobind/stl/string.h>
#include <pellucid/error.h>

namespace pel::python {

namespace nb = nanobind;

SizeExpression SizeExpression::from_python(nb::handle object, std::size_t symbol_count) {
  using enum Kind;
  constexpr std::array<std::pair<std::string_view, Kind>, 7> kOperators = {{{"+", Sum},
                                                                            {"*", Product},
                                                                            {"-", Difference},
                                                                            {"//", Quotient},
                                                                            {"%", Remainder},
                                                                            {"max", Max},
                                                                            {"min", Min}}};
  SizeExpression made;
  if (PyLong_Check(object.ptr())) {
    made.value = nb::cast<std::int64_t>(object);
    return made;
  }
  const nb::tuple tuple = nb::cast<nb::tuple>(object);
  const auto word = nb::cast<std::string>(tuple[0]);
  if (word == "s") {
    made.kind = Symbol;
    made.value = nb::cast<std::int64_t>(tuple[1]);
    if (made.value < 0 || static_cast<std::size_t>(made.value) >= symbol_count)
      throw ValueError("size expression: there is no symbol " + std::to_string(made.value) + ", only " +
                       std::to_string(symbol_count));
    return made;
  }
  for (const auto& [name, kind] : kOperators)
    if (name == word) made.kind = kind;
  const std::size_t count = nb::len(tuple) - 1;
  const bool takes_any = made.kind == Sum || made.kind == Product;
  if (made.kind == Number || count < 2 || (!takes_any && count != 2))
    throw ValueError("size expression: " + std::string(nb::repr(object).c_str()) +
                     " is not an integer, a symbol or an operator with its operands");
  for (std::size_t i = 1; i <= count; ++i) made.parts.push_back(from_python(tuple[i], symbol_count));
  return made;
}

Dim SizeExpression::evaluate(Dims symbols) const {
  using enum Kind;
  if (kind == Number) return value;
  if (kind == Symbol) return symbols[static_cast<std::size_t>(value)];
  Dim result = parts[0].evaluate(symbols);
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const Dim next = parts[i].evaluate(symbols);
    switch (kind) {
      case Sum:
        result += next;
        break;
      case Product:
        result *= next;
        break;
      case Difference:
        result -= next;
        break;
      case Quotient:
        result = result / next;
        break;
      case Remainder:
        result = result % next;
        break;
      case Max:
        result = result < next ? next : result;
        break;
      case Min:
        result = next < result ? next : result;
        break;
      case Number:
      case Symbol:
        break;
    }
  }
  return result;
}

std::vector<SizeExpression> sizes_from_python(nb::handle list, std::size_t symbol_count) {
  std::vector<SizeExpression> sizes;
  for (const nb::handle each : list) sizes.push_back(SizeExpression::from_python(each, symbol_count));
  return sizes;
}

std::vector<Dim> evaluate(const std::vector<SizeExpression>& sizes, Dims symbols) {
  std::vector<Dim> dims;
  dims.reserve(sizes.size());
  for (const SizeExpression& size : sizes) dims.push_back(size.evaluate(symbols));
  return dims;
}

}  // namespace pel::python
