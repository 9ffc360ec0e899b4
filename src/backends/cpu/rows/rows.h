// Row ops: reductions and row formulas over any axes of any layout, in one fixed order.
#pragma once

#include <vector>

#include "pellucid/extend/op.h"

#include "codegen/loop_ir.h"
#include "dispatch/loop_compiler.h"
#include "dispatch/rows.h"

namespace pel::cpu {

// The loops of one row op, for one dtype.
struct RowCode {
  struct Fold {
    codegen::PelLoopFn* fold;        // elements of a row to its value
    codegen::PelLoopFn* accumulate;  // adds one element to each of several values; null: only by rows
    codegen::PelLoopFn* element;     // maps elements of a row to the reduced values; null: `fold` does both
    codegen::PelLoopFn* finish;      // null: not needed
    codegen::PelLoopFn* fold_values;
    codegen::PelLoopFn* combine;  // null: no reduction, `finish` alone produces the value
    std::uint64_t initial_bits;   // the value of an empty reduction
    std::uint64_t reads;          // inputs, then stages, one bit each
    int stage = -1;               // that `fold` also writes
  };
  struct Output {
    RowOutput::Kind kind;
    DType dtype;
    codegen::PelLoopFn* function;  // null for an Index
    std::uint64_t reads;           // inputs of a Row, then stages, one bit each
    codegen::PelRunsFn* runs;      // of a Row; null if there is none
  };
  // Elements that several loops read, computed once per chunk; only in fused kernels.
  struct Stage {
    codegen::PelLoopFn* function;  // null: a fold writes them
    DType dtype;
    std::uint64_t reads;  // inputs, then earlier stages, one bit each
    std::size_t after;    // computed after this many folds
    int output;           // the Row output that they are; -1: not an output
  };
  const char* name = nullptr;
  DType value{};
  int input_count = 0;
  DType inputs[kMaxRowInputs] = {};
  std::vector<Fold> folds;
  int saved_fold = -1;  // the fold that has `element`
  std::vector<Output> outputs;
  std::vector<Stage> stages;  // with stages, rows are processed one by one
};

// A kernel's run function: args.context is a RowCode. All operands have the rank of the first input. An input
// repeats by stride 0; an output that is a value or an index has stride 0 along reduced axes. The bits of the
// first scalar say which axes are reduced.
//
// The reduced elements of one output, last axis first, are one sequence. Blocks of 1024 are reduced each,
// then the results of 1024 blocks, and so on: the order depends on the sizes of the reduced axes alone.
void run_rows(Stream& stream, const KernelArgs& args);

}  // namespace pel::cpu
