// Tiles to LLVM IR.
#pragma once

#include <memory>
#include <vector>

#include "codegen/tile.h"

namespace llvm {
class Module;
}  // namespace llvm

namespace pel::codegen {

// Emits the functions of the tiles into a module.
void emit_tiles(llvm::Module& module, const std::vector<TileKernel>& tiles, Isa isa);

}  // namespace pel::codegen
