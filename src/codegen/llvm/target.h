// LLVM's description of the target machine, and compilation of a module to an object file.
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

// Sets the target attributes of a function to this ISA.
void set_target(llvm::Function& function, Isa isa);

// Of another architecture than this one only if the program has initialised LLVM's target.
std::unique_ptr<llvm::TargetMachine> make_target_machine(Isa isa);

// Compiles to an ELF object. The emitter writes vectors itself, so no IR passes run: they would take two
// thirds of the time without a gain.
std::unique_ptr<llvm::MemoryBuffer> compile_object(llvm::TargetMachine& machine, llvm::Module& module);

}  // namespace pel::codegen
