// Replaces compiled_loops.cc if the library is built without LLVM.
#include "backends/cpu/elementwise/pointwise.h"
#include "backends/cpu/jit/saved_loops.h"

namespace pel::cpu {

void register_loop_compiler() {}

decltype(LoopFiles::save) loop_saver() { return nullptr; }

}  // namespace pel::cpu
