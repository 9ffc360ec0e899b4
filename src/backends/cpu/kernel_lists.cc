#include "backends/cpu/elementwise/pointwise.h"
#include "backends/cpu/jit/saved_loops.h"
#include "backends/cpu/kernels.h"

namespace pel::cpu {

void register_kernels() {
  for (const KernelLists lists : {attention_kernels(),
                                  collective_kernels(),
                                  convolution_kernels(),
                                  copy_kernels(),
                                  fill_kernels(),
                                  fused_linear_kernels(),
                                  gemm_kernels(),
                                  index_kernels(),
                                  linear_cross_entropy_kernels(),
                                  move_kernels(),
                                  optimizer_kernels(),
                                  pad_kernels(),
                                  pool_kernels(),
                                  select_kernels(),
                                  random_kernels(),
                                  sampling_kernels(),
                                  scan_kernels(),
                                  search_kernels(),
                                  softmax_cross_entropy_kernels(),
                                  sort_kernels(),
                                  upsample_kernels()})
    Registry::register_backend(DeviceType::Cpu, lists);
  register_pointwise();
  register_loop_compiler();
  register_saved_loops();
  register_packing();
}

}  // namespace pel::cpu
