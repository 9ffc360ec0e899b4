// Sizes of a torch graph: integers, symbols, and arithmetic on them.
#pragma once

#include <cstdint>
#include <vector>

#include <nanobind/nanobind.h>
#include <pellucid/dim.h>

namespace pel::python {

struct SizeExpression {
  enum class Kind : std::uint8_t { Number, Symbol, Sum, Product, Difference, Quotient, Remainder, Max, Min };
  Kind kind = Kind::Number;
  std::int64_t value = 0;  // the number, or which symbol
  std::vector<SizeExpression> parts;

  // 4, ("s", 0), ("*", 4, ("s", 0)).
  static SizeExpression from_python(nanobind::handle object, std::size_t symbol_count);
  // Plain numbers in, a plain number out; in a capture, expressions of its symbols. Max and Min compare.
  Dim evaluate(Dims symbols) const;
};

std::vector<SizeExpression> sizes_from_python(nanobind::handle list, std::size_t symbol_count);
std::vector<Dim> evaluate(const std::vector<SizeExpression>& sizes, Dims symbols);

}  // namespace pel::python
