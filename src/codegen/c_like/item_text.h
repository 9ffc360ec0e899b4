// Kernels written by hand, as what one item does.
#pragma once

#include <string>

#include "codegen/c_like/dialect.h"

namespace pel::codegen {

// The struct of numbers (loop_text.h) goes on with `count` and `fields`: "rank, size[8]". Statements see the
// item's number `i` below count, the struct as `call`, and operand k as PEL_AT(type, k). They end the item
// with `return`.
struct ItemText {
  std::string name;
  int operands = 0;
  std::string fields;
  std::string functions;  // before the kernel: types and inline functions
  std::string statements;
};
std::string item_text(const Dialect& dialect, const ItemText& kernel);

// Inline functions `T <name>(T a, T b)` of values in memory: how an element of `dtype` is combined with
// another one. Halves are combined in f32; integers wrap; a NaN wins over numbers.
enum class Combine : std::uint8_t { Replace, Add, Multiply, Max, Min };
std::string combine_function(Combine combine, DType dtype, std::string_view name);

}  // namespace pel::codegen
