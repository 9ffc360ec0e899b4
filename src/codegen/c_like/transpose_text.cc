#include "codegen/c_like/transpose_text.h"

#include <fmt/format.h>

#include "codegen/c_like/dialect.h"
#include "codegen/c_like/expr_text.h"

namespace pel::codegen {
namespace {

// The lanes that an exchange of blocks of `width` takes from two rows: those of the first, and of the second.
std::string exchanged(int width, bool is_second) {
  std::string lanes;
  for (int begin = 0; begin < kVectorLanes; begin += 2 * width) {
    for (const char* row : {"a", "b"}) {
      lanes += fmt::format("{}{}.s", lanes.empty() ? "" : ", ", row);
      for (int i = 0; i < width; ++i) lanes += fmt::format("{:x}", begin + (is_second ? width : 0) + i);
    }
  }
  return lanes;
}

}  // namespace

std::string transpose_text(DType type, DType memory) {
  const std::string value = value_type_name(type), vector = value_type_name(type, kVectorLanes);
  const std::string_view stored = memory_type_name(memory);
  std::string text = fmt::format("PEL_INLINE void transpose_{0}({1}* u) {{\n", value, vector);
  for (int width = kVectorLanes / 2; width >= 1; width /= 2)
    text += fmt::format(
        "  PEL_UNROLL for (int i = 0; i < 16; ++i) {{ if ((i & {0}) != 0) continue;\n"
        "    const {1} a = u[i], b = u[i + {0}]; u[i] = ({1})({2}); u[i + {0}] = ({1})({3}); }}\n",
        width, vector, exchanged(width, false), exchanged(width, true));
  text += "}\n";
  text += fmt::format(
      "PEL_INLINE void read_columns_{0}_{2}({1}* u, PEL_GLOBAL const {3}* from, const pel_i64* at, pel_i64 "
      "p) {{\n"
      "  PEL_UNROLL for (int i = 0; i < 16; ++i) u[i] = {4};\n  transpose_{0}(u);\n}}\n"
      "PEL_INLINE {1} read_column_{0}_{2}(PEL_GLOBAL const {3}* from, const pel_i64* at, pel_i64 p) {{\n"
      "  {0} values[16];\n  for (int i = 0; i < 16; ++i) values[i] = {5};\n  return vload16(0, "
      "values);\n}}\n",
      value, vector, name(memory), stored,
      cast_text("vload16(0, from + at[i] + p)", memory, type, kVectorLanes),
      cast_text("from[at[i] + p]", memory, type, 1));
  return text;
}

}  // namespace pel::codegen
