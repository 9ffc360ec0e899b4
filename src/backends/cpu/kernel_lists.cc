// Which kernels serve which op on the CPU. The first that supports the call wins.
#include "backends/cpu/kernels.h"
#include "backends/cpu/pointwise.h"
#include "dispatch/registry.h"

namespace pel::cpu {

void register_kernels() {
  static const Kernel kCopy[] = {copy_dense, copy_strided, copy_cast};
  static const Kernel kFill[] = {fill_strided};
  static const Kernel kArange[] = {arange_dense};
  static const Kernel kLinspace[] = {linspace_dense};
  static const Kernel kEye[] = {eye_dense};
  const BackendKernels lists[] = {
      {"copy_", {kCopy, std::size(kCopy)}},      {"fill_", {kFill, std::size(kFill)}},
      {"arange", {kArange, std::size(kArange)}}, {"linspace", {kLinspace, std::size(kLinspace)}},
      {"eye", {kEye, std::size(kEye)}},
  };
  Registry::register_backend(DeviceType::Cpu, {lists, std::size(lists)});
  register_pointwise();
}

}  // namespace pel::cpu
