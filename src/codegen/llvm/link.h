// Object files of LLVM linked to one code image.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "codegen/code_image.h"

namespace llvm {
class MemoryBuffer;
}

namespace pel::codegen {

// `functions`: the symbols to find, in this order. Throws InternalError if an object has a relocation that
// depends on the address where it runs, calls a function that is not an Import, or lacks a symbol.
CodeImage link(const std::vector<std::unique_ptr<llvm::MemoryBuffer>>& objects,
               const std::vector<std::string>& functions);

}  // namespace pel::codegen
