// The kernels of devices that run text: the lists of their ops. One list for all of them; the device that
// runs a kernel is launch_target().
#pragma once

#include "codegen/c_like/dialect.h"
#include "dispatch/loop_compiler.h"
#include "dispatch/registry.h"

namespace pel::grid {

using KernelLists = ArrayView<BackendKernels>;
KernelLists attention_kernels();
KernelLists copy_kernels();
KernelLists gemm_kernels();
KernelLists generator_kernels();
KernelLists map_kernels();
KernelLists optimizer_kernels();
KernelLists random_kernels();

struct Abilities {
  bool has_f64 = true;
  bool is_cpu = true;  // an item runs on a core with vectors
};
// Of the device that a launch is for. A call that is only asked about names no device: then what all
// registered devices have, and the larger need of scratch memory.
Abilities abilities();
// The language of the device that a launch is for.
const codegen::Dialect& dialect();
// A loop compiler (dispatch/loop_compiler.h), for devices that have prepared kernels.
CompiledLoops compile_loops(const std::vector<LoopSource>& sources);
// Registers the lists for a device. Called once for each.
void register_kernels(DeviceType device, const Abilities& abilities);

}  // namespace pel::grid
