#include "codegen/c_like/item_text.h"

#include <fmt/format.h>

#include "codegen/c_like/expr_text.h"

namespace pel::codegen {

std::string item_text(const Dialect& dialect, const ItemText& kernel) {
  std::string memory;
  for (int k = 0; k < kernel.operands; ++k) memory += fmt::format("PEL_MEMORY m{}, ", k);
  return kernel_header(dialect, 1) + kernel.functions +
         fmt::format(
             "typedef struct {{ pel_i64 offset[{}]; pel_i64 launch, count{}{}; }} Call;\n"
             "PEL_KERNEL void {}({}PEL_STATUS status, const Call call) {{\n"
             "  const pel_i64 i = PEL_ID(0);\n  if (i >= call.count) return;\n{}}}\n",
             kernel.operands, kernel.fields.empty() ? "" : ", ", kernel.fields, kernel.name, memory,
             kernel.statements);
}

std::string combine_function(Combine combine, DType dtype, std::string_view name) {
  const std::string_view memory = memory_type_name(dtype);
  const bool is_half = dtype == kF16 || dtype == kBF16;
  const DType computed = is_half ? kF32 : dtype;
  const std::string type = value_type_name(computed);
  std::string result;
  const auto arithmetic = [&](std::string_view floating, std::string_view integer, std::string_view of_bool) {
    if (is_floating(dtype)) return fmt::format("{}_{}(x, y)", floating, pel::name(computed));
    if (dtype == kBool) return fmt::format("(x {} y)", of_bool);
    return fmt::format("({})((pel_u64)x {} (pel_u64)y)", type, integer);
  };
  switch (combine) {
    case Combine::Replace:
      result = "y";
      break;
    case Combine::Add:
      result = arithmetic("add", "+", "||");
      break;
    case Combine::Multiply:
      result = arithmetic("mul", "*", "&&");
      break;
    case Combine::Max:
      result = "(y > x || y != y ? y : x)";
      break;
    case Combine::Min:
      result = "(y < x || y != y ? y : x)";
      break;
  }
  const auto loaded = [&](std::string_view from) {
    return dtype == kBool ? fmt::format("{} != 0", from) : cast_text(std::string(from), dtype, computed, 1);
  };
  return fmt::format(
      "PEL_INLINE {0} {1}({0} a, {0} b) {{\n  const {2} x = {3}, y = {4};\n  const {2} z = {5};\n  return "
      "({0})({6});\n}}\n",
      memory, name, type, loaded("a"), loaded("b"), result, cast_text("z", computed, dtype, 1));
}

}  // namespace pel::codegen
