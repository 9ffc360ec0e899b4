// The only file that knows all ops, backends and layers.
#include "backends/cpu/kernels.h"
#include "dispatch/registry.h"

namespace pel {

void register_everything() {
  Registry::register_builtins();
  cpu::register_kernels();
}

}  // namespace pel
