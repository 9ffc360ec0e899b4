// Replaces compiled_loops.cc if the library is built without LLVM.
#include "backends/cpu/elementwise/pointwise.h"

namespace pel::cpu {

void register_loop_compiler() {}

}  // namespace pel::cpu
