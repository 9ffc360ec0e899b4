// The code of the prebuilt kernels of one instruction set. The library links it as object files. The runtime
// library has it packed (packed_code.h), and a process unpacks that of its own instruction set.
#pragma once

#include <cstdint>
#include <string_view>

#include "pellucid/array_view.h"

#include "codegen/isa.h"
#include "codegen/loop_ir.h"
#include "codegen/tile.h"

namespace pel::cpu {

struct PrebuiltKernel {
  const char* name;
  float cost;  // cycles per element, roughly
  codegen::PelLoopFn* function;
  codegen::PelRunsFn* runs;  // null if there is none
  std::uint64_t reads;       // inputs, one bit each; pointers of the others are not dereferenced
};
struct PrebuiltTile {
  const char* name;
  codegen::PelTileFn* function;
};
struct PrebuiltCode {
  ArrayView<PrebuiltKernel> kernels;  // sorted by name
  ArrayView<PrebuiltTile> tiles;
};
// Valid as long as the process.
const PrebuiltCode& prebuilt_code(codegen::Isa isa);

// Returns null if no kernel has that name.
const PrebuiltKernel* find_prebuilt(std::string_view name, codegen::Isa isa);

}  // namespace pel::cpu
