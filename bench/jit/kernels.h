// Kernels for both sides of the jit benchmark: every third f32 kernel of eager execution.
#pragma once

#include <vector>

#include "backends/cpu/generated/kernel_set.h"

namespace bench {

inline std::vector<pel::codegen::LoopKernel> some_kernels(std::size_t count, pel::codegen::Isa isa) {
  std::vector<pel::codegen::LoopKernel> kernels;
  std::size_t number = 0;
  for (const pel::cpu::KernelSpec& spec : pel::cpu::kernel_set()) {
    if (!spec.name.ends_with("_f32") || spec.name.starts_with("cast") || spec.fold) continue;
    // The single kernel is gelu by tanh, which is of medium length.
    if (count == 1 ? spec.name == "gelu_tanh_f32" : number++ % 2 == 0) kernels.push_back(spec.lower(isa));
    if (kernels.size() == count) break;
  }
  return kernels;
}

}  // namespace bench
