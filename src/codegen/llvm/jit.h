// Kernels compiled in process.
#pragma once

#include <memory>
#include <vector>

#include "codegen/loop_ir.h"

namespace pel::codegen {

// Functions in the order of the requested kernels. Their code lives as long as this object.
class CompiledKernels {
 public:
  CompiledKernels(std::vector<PelLoopFn*> functions, std::shared_ptr<void> code)
      : functions_(std::move(functions)), code_(std::move(code)) {}
  PelLoopFn* operator[](std::size_t i) const { return functions_[i]; }
  std::size_t size() const { return functions_.size(); }

 private:
  std::vector<PelLoopFn*> functions_;
  std::shared_ptr<void> code_;
};

// Compiles all kernels in one module: compiling fifty together costs less than fifty times one. Pages are
// written first and made executable afterwards, never both. Thread-safe. Throws InternalError if LLVM fails.
CompiledKernels compile_in_process(const std::vector<LoopKernel>& kernels, Isa isa);

}  // namespace pel::codegen
