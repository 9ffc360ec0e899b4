// Loops as files have them: a checksum of what was compiled, then the code.
#pragma once

#include <string>

#include "backends/cpu/jit/loop_list.h"
#include "codegen/code_image.h"
#include "dispatch/loop_compiler.h"

namespace pel::cpu {

std::string saved_bytes(const LoopList& list, const codegen::CodeImage& image);

// What compiles loops for files: compiled_loops.cc; null without LLVM.
decltype(LoopFiles::save) loop_saver();

void register_saved_loops();

}  // namespace pel::cpu
