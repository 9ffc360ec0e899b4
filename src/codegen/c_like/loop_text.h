// Kernels as text: elementwise loops and row reductions from scalar expressions.
//
// A kernel has one memory argument for each operand that is in memory, outputs first; then the status word of
// its stream; then one struct of 64-bit numbers, in this order:
//   offset[operands in memory]  in bytes, of the first element
//   launch                      number of the launch, for pel_report
//   and what the kernel's own comment says.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "codegen/c_like/dialect.h"
#include "ir/scalar.h"

namespace pel::codegen {

inline constexpr int kMaxGridAxes = 8;
// What a kernel reports; the host makes an error of it. The axis is added to kReportsIndex. The value of a
// probability or a deviation is the bits of an f64.
inline constexpr std::int64_t kReportsDivision = 1, kReportsClass = 2, kReportsProbability = 3,
                              kReportsDeviation = 4, kReportsIndex = 256;

// An elementwise loop: result i of the body goes to output i, input i comes from input i. Values are
// converted where the dtype in memory is another one than the body's.
//   dense:   count, step[operands in memory]: 1, or 0 for an input that repeats. An item has `lanes`
//   elements.
//   strided: count, rank, size[axes], step[operands in memory][axes]; the innermost axis first, steps in
//   elements. An item has one element.
// then number[]: bits of the inputs that are numbers, in the body's dtype, and of the params.
struct PointwiseText {
  std::string name;
  const scalar::ScalarExpr* body = nullptr;
  std::vector<DType> outputs;                // dtypes in memory
  std::vector<std::optional<DType>> inputs;  // dtypes in memory; none: a number
  bool is_dense = true;
  int lanes = 1;            // of a dense one
  int axes = kMaxGridAxes;  // of a strided one, at most: few keep the struct of many operands small
};
std::string pointwise_text(const Dialect& dialect, const PointwiseText& kernel);

// A row reduction, one item a row: blocks of 1024 elements with 32 running values each, then blocks of block
// results, as Fold (loop_ir.h) and the rows of the CPU have it.
//   length, rows, reduced_rank, outer_rank, reduced_size[axes], outer_size[axes],
//   reduced_step[operands][axes], outer_step[operands][axes], number[]: bits of the params
// `is_dense`: there is one reduced axis, along which operands are dense, or repeat if they are listed so.
//
// Expressions of elements are over [inputs, stages, values folded so far], those of values over [values].
// A stage is computed again by each loop that reads it: scratch memory of a row costs more than a few
// operations.
struct RowsText {
  struct Stage {
    DType dtype{};
    std::optional<scalar::ScalarExpr> body;  // none: the second result of the element of fold `after`
    std::size_t after = 0;                   // this many folds; it reads stages before it
  };
  struct Fold {
    std::optional<scalar::ScalarExpr> element;  // none: `finish` computes the value
    std::optional<scalar::ScalarExpr> combine;
    std::optional<scalar::ScalarExpr> finish;
    std::uint64_t initial_bits = 0;
  };
  enum class Kind : std::uint8_t { Value, Row, Index };
  struct Output {
    Kind kind = Kind::Value;
    DType dtype{};
    std::optional<scalar::ScalarExpr> body;  // none for an Index, and for a stage
    int stage = -1;                          // that a Row is
  };
  std::string name;
  DType value{};
  std::vector<DType> inputs, stored_inputs;  // of the expressions, and in memory
  std::vector<DType> stored_outputs;
  std::vector<Stage> stages;
  std::vector<Fold> folds;
  int saved_fold = -1;  // whose elements rows read again
  std::vector<Output> outputs;
  std::vector<DType> params;
  int axes = kMaxGridAxes;  // at most
  bool is_dense = false;
  std::uint64_t repeated = 0;  // inputs that repeat along the row, a bit each
};
std::string rows_text(const Dialect& dialect, const RowsText& kernel);

}  // namespace pel::codegen
