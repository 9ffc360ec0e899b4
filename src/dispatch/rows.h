// The record of a row reduction: folds over the elements of a row, and formulas of the folded values.
// A sum folds once and returns the value; softmax folds a maximum and a sum, and returns a row.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "pellucid/dtype.h"

#include "ir/scalar.h"

namespace pel {

// How two values are combined. Max and Min propagate NaN; MaxNumber ignores it, for ops that detect NaN
// elsewhere.
enum class FoldKind : std::uint8_t { Sum, Product, Max, Min, And, Or, MaxNumber };
inline constexpr int kFoldKindCount = 7;
std::string_view name(FoldKind kind);
scalar::Term combine(FoldKind kind, scalar::Term a, scalar::Term b);
// The identity of the fold.
std::uint64_t initial_bits(FoldKind kind, DType type);

// The terms of the formulas. Elements have the type that is computed in: f32 for f16 and bf16.
struct RowTerms {
  std::vector<scalar::Term> in;       // elements of the inputs at one position of the row
  std::vector<scalar::Term> values;   // folded so far, the last one still unfinished in `finish`
  std::vector<scalar::Term> numbers;  // arguments of the op
  std::vector<scalar::Term> kept;     // in a Row: the stored element of the fold that stores its elements
  scalar::Term count;                 // elements in the row
  DType compute;                      // what is computed in: formulas that round between steps round to it
};
using RowFormula = std::function<scalar::Term(const RowTerms&)>;

struct RowFold {
  FoldKind kind;
  RowFormula element;  // empty: nothing is folded, `finish` computes the value from those before it
  RowFormula finish;   // empty: the folded value
};

struct RowOutput {
  enum class Kind : std::uint8_t {
    Value,  // one per row
    Row,    // one per element
    Index,  // of the first element that is the value of fold 0, which is a Max or Min of elements
  };
  Kind kind = Kind::Value;
  RowFormula formula;                   // empty for Index
  std::function<DType(DType)> dtype{};  // by the dtype computed in; empty: the same
};

// Returns the outputs that may share memory with an input, a bit each: the one row output, if no other output
// still reads the input.
inline constexpr std::uint64_t kAnyOutput = ~std::uint64_t{0};
template <class Outputs>
std::uint64_t overwrites(const Outputs& outputs) {
  std::uint64_t found = 0;
  int rows = 0;
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    if (outputs[o].kind == RowOutput::Kind::Index) return 0;
    if (outputs[o].kind != RowOutput::Kind::Row) continue;
    found = std::uint64_t{1} << o;
    ++rows;
  }
  return rows == 1 ? found : 0;
}

struct RowProgram {
  std::string suffix;  // of the kernel's name: "" or, say, "max"
  int input_count = 1;
  int value_input = 1 << 10;  // inputs from this one on are stored in the value type
  int param_count = 0;
  DTypeSet computes = kAllDTypes;
  std::function<DType(DType)> value_type;  // of folded values and formulas
  bool casts_elements = true;              // to the value type; else formulas see their own, f32 for f16
  std::vector<RowFold> folds;
  int keeps = -1;  // the fold whose elements are stored for row outputs to read; -1: none
  std::vector<RowOutput> outputs;

  // The expected result, computed by other code than the formulas, and the size of the terms that may cancel,
  // which the error is compared with where it is larger than the result.
  struct Wanted {
    long double value, magnitude;
    // Of f16 and bf16 whose terms are rounded between steps: their size, an ULP of which is permitted more.
    long double rounded = 0;
  };
  // Of output `output` at `position`: inputs are rows of numbers.
  std::function<Wanted(const std::vector<std::vector<long double>>& inputs, const std::vector<double>& params,
                       int output, std::size_t position)>
      reference;
  double max_ulp = 1;                // plus what the depth of the fold adds
  double half_ulp = 1;               // of results in f16 and bf16; more where formulas round between steps
  std::vector<double> param_values;  // of params in tests
  bool takes_empty = true;           // rows without elements
  double low = -10, high = 10;       // range of elements in tests

  DType stored_input(int i, DType compute) const { return i < value_input ? compute : value_type(compute); }
  DType stored_output(std::size_t i, DType compute) const;
};

// One program, or several among which the body chooses by number.
struct Rows {
  std::vector<RowProgram> programs;
};

// Expressions of the parts, all over [elements of inputs, values so far], with params [count, numbers].
scalar::ScalarExpr element_expr(const RowProgram& rows, std::size_t fold, DType compute);
// The same, combined with a value that comes before the other inputs.
scalar::ScalarExpr accumulate_expr(const RowProgram& rows, std::size_t fold, DType compute);
// Over [values so far, the folded one].
scalar::ScalarExpr finish_expr(const RowProgram& rows, std::size_t fold, DType compute);
// Over [values] for a Value, over [elements, the stored one, values] for a Row, in the dtype of the output.
scalar::ScalarExpr output_expr(const RowProgram& rows, std::size_t output, DType compute);
// One value as itself, and two as one.
scalar::ScalarExpr value_expr(DType type);
scalar::ScalarExpr combine_expr(FoldKind kind, DType type);

}  // namespace pel
