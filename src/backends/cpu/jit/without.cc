// In place of compiled_loops.cc where the library is built without LLVM.
#include "backends/cpu/elementwise/pointwise.h"

namespace pel::cpu {

void register_loop_compiler() {}

}  // namespace pel::cpu
