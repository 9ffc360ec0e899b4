// Elementwise loops from text, over operands of any layout and dtype.
#pragma once

#include <string>

#include "backends/grid/grid_call.h"
#include "ir/scalar.h"

namespace pel::grid {

struct Loop {
  Loop(std::string of, scalar::ScalarExpr expression);
  // Of a compiled graph: operands have the dtypes of the expression.
  static Loop fused(std::string of, scalar::ScalarExpr expression);
  std::string name;   // of the function in the text
  std::string shown;  // in errors of the compiler
  scalar::ScalarExpr body;
  bool divides;          // integers: reports a divisor of 0
  bool has_vector_form;  // of several elements an item
  Functions functions;
};

// Runs a loop: result i of the body goes to operand i, the other operands are its inputs, which broadcast.
// `numbers` are its params.
void run_loop(Loop& loop, const Operand* operands, ArrayView<PelScalar> numbers);
// Axes that a text has memory for: few, where many operands would make a struct that no device passes.
int text_axes(int operands, int rank);

// The loop that converts between two dtypes, or copies.
Loop& cast_loop(DType from, DType to);

// Returns why operands of this rank cannot be walked; yes if they can.
Support supports_rank(const KernelArgs& args);
// The same where all operands are in memory of the device.
Support supports_memory(const KernelArgs& args);

}  // namespace pel::grid
