// Products of matrices: what a call is, for every kernel that may serve it.
#pragma once

#include <string>
#include <vector>

#include "pellucid/extend/op.h"

namespace pel::cpu {

// Strides are in elements.
struct Matrix {
  char* data = nullptr;
  std::int64_t batch = 0, row = 0, column = 0;

  Matrix turned() const { return {data, batch, column, row}; }
  // How its rows lie, for a kernel that wants one unit stride: 'n' row after row, 't' column after column,
  // 'x' neither. An axis of size 1 may have any stride.
  char order(std::int64_t rows, std::int64_t columns) const {
    if (column == 1 || columns == 1) return 'n';
    return row == 1 || rows == 1 ? 't' : 'x';
  }
};

// A tensor of two axes.
inline Matrix matrix_of(const Tensor& t) {
  return {static_cast<char*>(t.raw_data()), 0, t.strides()[0].value(), t.strides()[1].value()};
}

// out = beta added + alpha (a b), for each of a batch.
struct GemmCall {
  explicit GemmCall(const KernelArgs& args);

  std::int64_t batch = 1, m, n, k;
  Matrix out, a, b, added;
  bool adds;
  DType dtype;
  PelScalar beta, alpha;

  double flops() const { return 2.0 * static_cast<double>(batch * m * n) * static_cast<double>(k); }
  double bytes() const;
  // What is done after the product, for names: "", "_bias" for a row that repeats, or "_add"; with "_alpha",
  // "_beta".
  std::string epilogue() const;
  // The order of b, then that of a: "tn" is x W^T, as libraries that count columns first say it.
  std::string layout() const;
};

// Dtype, layout, epilogue, and the sizes up to the next power of two.
std::string gemm_class(const KernelArgs& args);

}  // namespace pel::cpu
