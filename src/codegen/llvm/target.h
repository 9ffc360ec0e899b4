// LLVM's view of the machine, and from a module to an object file.
#pragma once

#include <memory>

#include "codegen/isa.h"

namespace llvm {
class Function;
class MemoryBuffer;
class Module;
class TargetMachine;
}  // namespace llvm

namespace pel::codegen {

// Marks a function as code for this ISA.
void set_target(llvm::Function& function, Isa isa);

std::unique_ptr<llvm::TargetMachine> make_target_machine(Isa isa);

// An ELF object. The emitter writes vectors itself, so no IR passes run: they would cost two thirds of the
// time and gain nothing.
std::unique_ptr<llvm::MemoryBuffer> compile_object(llvm::TargetMachine& machine, llvm::Module& module);

}  // namespace pel::codegen
