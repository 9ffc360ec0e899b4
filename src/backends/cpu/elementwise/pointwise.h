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
  std::int64_t grain = 1;  // elements that are worth a thread
  int output_count = 1;
  int input_count = 0;
  DType operands[kMostLoopOperands] = {};
};
// A piece of work for one thread takes about 20 µs: ten times what handing it over costs.
std::int64_t grain_of(double cycles_per_element);

// Puts the kernels of one ISA into the lists of the pointwise ops; without one, those of the active ISA.
// Calls that run at the same time must not be there.
void register_pointwise(codegen::Isa isa);
void register_pointwise();

// A kernel's run function: args.context is a LoopCode. Inputs broadcast; operands of other dtypes than the
// loop's are converted, and strided ones gathered, a block at a time in L1.
void run_loop(Stream& stream, const KernelArgs& args);
// The same for a loop with several outputs, or more inputs than an op has. All outputs have the sizes that
// the inputs broadcast to.
void run_fused_loop(Stream& stream, const KernelArgs& args);

// Compiles the loops of fused ops in process, where the library can.
void register_loop_compiler();

// One number in another dtype, without a kernel.
void convert_one(void* to, DType to_type, const void* from, DType from_type);

// The loop that casts between two dtypes. Null where they are the same or the processor has no kernels.
const LoopCode* cast_loop(DType from, DType to);

}  // namespace pel::cpu
