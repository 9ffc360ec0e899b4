// Loop IR to LLVM IR: explicit vectors, one loop body. The only emitter for the CPU: it emits both the
// prebuilt kernels and those compiled in process, so they produce the same bits.
#pragma once

#include <memory>
#include <vector>

#include "codegen/loop_ir.h"

namespace llvm {
class LLVMContext;
class Module;
}  // namespace llvm

namespace pel::codegen {

// How functions of an object file are linked.
enum class Linkage : std::uint8_t { IntoLibrary, IntoProcess };

std::unique_ptr<llvm::Module> emit_module(llvm::LLVMContext& context, const std::vector<LoopKernel>& kernels,
                                          Isa isa, Linkage linkage);

// Throws InternalError if a module is not valid LLVM IR. For kernelgen and tests, which see all
// kernels.
void verify(const llvm::Module& module);

}  // namespace pel::codegen
