// Row reductions from text, over any axes of any layout, in the order of additions of the CPU.
#pragma once

#include <optional>
#include <string>

#include "backends/grid/grid_call.h"
#include "dispatch/loop_compiler.h"
#include "dispatch/rows.h"

namespace pel::grid {

struct RowLoop {
  std::string name;                     // of the function in the text
  std::string shown;                    // in errors of the compiler
  const RowProgram* program = nullptr;  // null: a fused kernel, which has its text from the start
  DType compute{};
  std::optional<codegen::RowsText> text{};  // without what depends on the operands of a call
  Functions functions{};
};
RowLoop fused_rows(std::string of, const RowLoops& rows);

// A kernel's run function: args.context is a RowLoop. The bits of the first scalar say which axes are
// reduced.
void run_rows(Stream& stream, const KernelArgs& args);

}  // namespace pel::grid
