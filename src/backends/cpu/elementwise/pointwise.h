// Drives a generated loop over tensors of any layout and dtype.
#pragma once

#include "pellucid/extend/op.h"

#include "codegen/loop_ir.h"
#include "dispatch/loop_compiler.h"

namespace pel::cpu {

// A loop and the dtypes it writes and reads, outputs first.
struct LoopCode {
  const char* name = nullptr;
  codegen::PelLoopFn* function = nullptr;
  std::int64_t grain = 1;  // elements per thread task
  int output_count = 1;
  int input_count = 0;
  DType operands[kMaxLoopOperands] = {};
};
// Returns the elements of a grain of parallel_for.
std::int64_t grain_of(double cycles_per_element);

// Registers the kernels of one ISA in the lists of the elementwise ops; without an argument, those of the
// active ISA. No call may run at the same time.
void register_pointwise(codegen::Isa isa);
void register_pointwise();

// A kernel's run function: args.context is a LoopCode. Inputs broadcast; operands of other dtypes than the
// loop's are converted, and strided ones gathered, a block at a time in L1.
void run_loop(Stream& stream, const KernelArgs& args);
// The same for a loop with several outputs, or more inputs than an op has. All outputs have the sizes that
// the inputs broadcast to.
void run_fused_loop(Stream& stream, const KernelArgs& args);

// Registers in-process compilation of fused loops, if the library is built with LLVM.
void register_loop_compiler();

// Converts one element to another dtype, without a kernel.
void convert_one(void* to, DType to_type, const void* from, DType from_type);

// Returns the loop that casts between two dtypes. Null if they are equal or the processor is not supported.
const LoopCode* cast_loop(DType from, DType to);
// Converts dense elements to another dtype.
void cast_elements(char* to, DType to_type, char* from, DType from_type, std::int64_t count);

}  // namespace pel::cpu
