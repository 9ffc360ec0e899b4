// GEMM: the description of a call, for every kernel that may serve it.
#pragma once

#include <string>
#include <vector>

#include "pellucid/extend/op.h"

namespace pel::cpu {

// Strides are in elements.
struct Matrix {
  char* data = nullptr;
  std::int64_t batch = 0, row = 0, column = 0;

  Matrix transposed() const { return {data, batch, column, row}; }
  // The memory order, for a kernel that needs one unit stride: 'n' row-major, 't' column-major, 'x' neither.
  // An axis of size 1 may have any stride.
  char order(std::int64_t rows, std::int64_t columns) const {
    if (column == 1 || columns == 1) return 'n';
    return row == 1 || rows == 1 ? 't' : 'x';
  }
};

// Describes an operand whose last two axes are rows and columns, and the first of three is the batch.
inline Matrix matrix_of(const Operand& o) {
  const int rows = o.rank - 2;
  return {static_cast<char*>(o.data), rows > 0 ? o.strides[0] : 0, o.strides[rows], o.strides[rows + 1]};
}
// Describes a tensor of two axes.
inline Matrix matrix_of(const Tensor& t) {
  return {static_cast<char*>(t.raw_data()), 0, t.strides()[0].value(), t.strides()[1].value()};
}

// out = beta added + alpha (a b), for each matrix of a batch.
struct GemmCall {
  explicit GemmCall(const KernelArgs& args);

  std::int64_t batch = 1, m, n, k;
  Matrix out, a, b, added;
  bool adds;
  DType dtype;
  PelScalar beta, alpha;

  double flops() const { return 2.0 * static_cast<double>(batch * m * n) * static_cast<double>(k); }
  double bytes() const;
  // Returns the epilogue for kernel names: "", "_bias" for a repeated row, or "_add"; with "_alpha",
  // "_beta".
  std::string epilogue() const;
  // Returns the order of b, then that of a: "tn" is x W^T, as column-major BLAS names it.
  std::string layout() const;
};

// Returns dtype, layout, epilogue, and the sizes rounded up to a power of two.
std::string gemm_class(const KernelArgs& args);

}  // namespace pel::cpu
