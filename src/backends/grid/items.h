// Kernels written by hand, built by dtypes.
#pragma once

#include <string>

#include <fmt/format.h>

#include "backends/grid/grid_call.h"
#include "backends/grid/kernels.h"
#include "codegen/c_like/item_text.h"

namespace pel::grid {

// Returns the function of an item kernel; `write` returns its text the first time a key is seen.
template <class Write>
FunctionHandle built_items(Functions& functions, std::uint64_t key, const std::string& name,
                           const Write& write) {
  return built(functions, key, name, [&] { return codegen::item_text(dialect(), write()); });
}

// The unsigned type of an element's width: for ops that move elements.
inline std::string typedef_of_width(std::string_view name, DType dtype) {
  return fmt::format("typedef pel_u{} {};\n", 8 * size_bytes(dtype), name);
}
inline std::int64_t count_of(const Operand& operand) {
  std::int64_t count = 1;
  for (int i = 0; i < operand.rank; ++i) count *= operand.sizes[i];
  return count;
}

inline bool is_dense_in_order(const Operand& operand) {
  std::int64_t step = 1;
  for (int i = operand.rank; i-- > 0; step *= operand.sizes[i])
    if (operand.sizes[i] != 1 && operand.strides[i] != step) return false;
  return true;
}

// The bits of a number that fills elements of a dtype, as store_element writes it.
inline std::int64_t fill_bits(PelScalar number, DType dtype) {
  const bool is_float = number.kind == PEL_SCALAR_FLOAT;
  if (is_float && !is_floating(dtype) && dtype != kU8)
    number.as_int = dtype == kBool ? number.as_float != 0 : convert<std::int64_t>(number.as_float);
  if (!is_float && is_floating(dtype) && dtype != kF64) number.as_float = static_cast<float>(number.as_int);
  return number_bits(number, dtype);
}

// Sizes and steps of an operand, the innermost axis first, kMaxGridAxes of them.
inline void add_sizes(GridCall& call, const Operand& operand) {
  for (int i = 0; i < kMaxGridAxes; ++i)
    call.number(i < operand.rank ? operand.sizes[operand.rank - 1 - i] : 1);
}
inline void add_steps(GridCall& call, const Operand& operand) {
  for (int i = 0; i < kMaxGridAxes; ++i)
    call.number(i < operand.rank ? operand.strides[operand.rank - 1 - i] : 0);
}

}  // namespace pel::grid
