// Reductions over any axes of any layout, in one fixed order.
#pragma once

#include "pellucid/op.h"

#include "backends/cpu/pointwise.h"

namespace pel::cpu {

// Two loops: from the elements of the input, and from values that are folded already.
struct FoldCode {
  LoopCode elements;
  LoopCode values;
  std::uint64_t initial_bits = 0;  // of no elements
};

// A kernel's run function: args.context is a FoldCode. The output has the input's rank, with size 1 where the
// axis is reduced.
//
// The reduced elements of one output, last axis first, are one sequence. Blocks of 1024 are folded each, then
// the results of 1024 blocks, and so on: the order depends on the sizes of the reduced axes alone.
void run_fold(Stream& stream, const KernelArgs& args);

}  // namespace pel::cpu
