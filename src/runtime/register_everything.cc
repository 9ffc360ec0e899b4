// The only file that knows all ops, backends and layers.
#include "autograd/register.h"
#include "backends/cpu/kernels.h"
#include "compile/capture.h"
#include "dispatch/registry.h"

namespace pel {

void register_everything() {
  Registry::register_builtins();
  cpu::register_kernels();
  register_profile();
  autograd::register_autograd();
  autograd::register_autocast();
  compiler::register_capture();
}

}  // namespace pel
