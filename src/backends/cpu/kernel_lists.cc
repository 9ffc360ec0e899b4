#include "backends/cpu/kernels.h"
#include "backends/cpu/pointwise.h"

namespace pel::cpu {

void register_kernels() {
  for (const KernelLists lists : {copy_kernels(), fill_kernels()})
    Registry::register_backend(DeviceType::Cpu, lists);
  register_pointwise();
}

}  // namespace pel::cpu
