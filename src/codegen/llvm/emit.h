// Loop IR to LLVM IR: explicit vectors, one loop body. The only emitter for the CPU: kernels built ahead of
// time and compiled in process come from here, so they have the same bits.
#pragma once

#include <memory>
#include <vector>

#include "codegen/loop_ir.h"

namespace llvm {
class LLVMContext;
class Module;
}  // namespace llvm

namespace pel::codegen {

// What the names of functions in an object file are for.
enum class Linkage : std::uint8_t { IntoLibrary, IntoProcess };

std::unique_ptr<llvm::Module> emit_module(llvm::LLVMContext& context, const std::vector<LoopKernel>& kernels,
                                          Isa isa, Linkage linkage);

// Throws InternalError where a module breaks a rule of LLVM's. For kernelgen and tests, which see all
// kernels.
void verify(const llvm::Module& module);

}  // namespace pel::codegen
