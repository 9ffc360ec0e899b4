// Ops that are one kernel for what several ops do: explained, and compared with these.
#pragma once

#include <cstdint>
#include <vector>

#include "pellucid/compare.h"
#include "pellucid/compile_explanation.h"
#include "pellucid/extend/op.h"

namespace pel::inspect {

std::vector<const Op*> tuned_ops();

// A call of one of them, with arguments of its own.
struct TunedCall {
  const Op* op = nullptr;
  std::int64_t rows = 512, columns = 3072;
  DType dtype = DType::F32;
};
// Also with half of the rows first, so that a recompile for another size is counted.
Comparison compare_ways(const TunedCall& call);
// What compile makes of the several ops.
CompileExplanation explain_compiled(const TunedCall& call);

}  // namespace pel::inspect
