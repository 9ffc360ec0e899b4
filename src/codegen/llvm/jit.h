// Kernels compiled in process.
#pragma once

#include <vector>

#include "codegen/code_image.h"

namespace pel::codegen {

// Compiles kernels in one module per thread: compiling fifty together costs less than fifty times one.
// Kernels that the cache on disk has are taken from it. Thread-safe. Throws InternalError if LLVM
// fails. An image may be for an instruction set that this processor lacks.
CodeImage compile_to_image(const std::vector<LoopKernel>& kernels, Isa isa);
CompiledKernels compile_in_process(const std::vector<LoopKernel>& kernels, Isa isa);

}  // namespace pel::codegen
