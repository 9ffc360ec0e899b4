// Ops over rows: folds and row formulas over any axes of any layout, in one fixed order.
#pragma once

#include <vector>

#include "pellucid/extend/op.h"

#include "codegen/loop_ir.h"
#include "dispatch/loop_compiler.h"
#include "dispatch/rows.h"

namespace pel::cpu {

inline constexpr int kMaxRowInputs = kMostRowInputs;

// The loops of one op over rows, for one dtype.
struct RowCode {
  struct Fold {
    codegen::PelLoopFn* fold;        // elements of a row to its value
    codegen::PelLoopFn* accumulate;  // values, and one element of each, to values; null: only by rows
    codegen::PelLoopFn* element;     // elements of a row to what is folded; null: `fold` does both
    codegen::PelLoopFn* finish;      // null: nothing to do
    codegen::PelLoopFn* fold_values;
    codegen::PelLoopFn* combine;  // null: nothing is folded, `finish` alone gives the value
    std::uint64_t initial_bits;   // of no elements
    std::uint64_t reads;          // inputs, then stages, a bit each
    int stage = -1;               // that `fold` writes too
  };
  struct Output {
    RowOutput::Kind kind;
    DType dtype;
    codegen::PelLoopFn* function;  // null for an Index
    std::uint64_t reads;           // inputs of a Row, then stages, a bit each
    codegen::PelRunsFn* runs;      // of a Row; null: there is none
  };
  // Elements that several loops read, computed once a chunk; of fused kernels alone.
  struct Stage {
    codegen::PelLoopFn* function;  // null: a fold writes them
    DType dtype;
    std::uint64_t reads;  // inputs, then earlier stages, a bit each
    std::size_t after;    // this many folds
    int output;           // the Row that they are; -1: nobody else sees them
  };
  const char* name = nullptr;
  DType value{};
  int input_count = 0;
  DType inputs[kMaxRowInputs] = {};
  std::vector<Fold> folds;
  int keeps = -1;  // the fold that has `element`
  std::vector<Output> outputs;
  std::vector<Stage> stages;  // where there are some, rows are walked one by one
};

// A kernel's run function: args.context is a RowCode. All operands have the rank of the first input: an input
// repeats by stride 0, and an output that is a value or an index has stride 0 where the axis is reduced. The
// first scalar's bits say which axes are.
//
// The reduced elements of one output, last axis first, are one sequence. Blocks of 1024 are folded each, then
// the results of 1024 blocks, and so on: the order depends on the sizes of the reduced axes alone.
void run_rows(Stream& stream, const KernelArgs& args);

}  // namespace pel::cpu
