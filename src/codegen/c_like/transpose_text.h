// Reads of 16 rows at a time that become vectors along their columns: transposes in registers.
#pragma once

#include <string>

#include "pellucid/dtype.h"

namespace pel::codegen {

// Functions on vectors of 16 of a floating type T:
//   transpose_T(u)             u[i][j] becomes u[j][i]
//   read_columns_T_M(u, from, at, p)  u[q][i] = from[at[i] + p + q], from memory with elements of dtype M
//   read_column_T_M(from, at, p)      the vector of from[at[i] + p]
std::string transpose_text(DType type, DType memory);

}  // namespace pel::codegen
