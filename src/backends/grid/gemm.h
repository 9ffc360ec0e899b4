// A matmul with an elementwise loop over its sums, from text.
#pragma once

#include <string>

#include "backends/grid/grid_call.h"
#include "ir/scalar.h"

namespace pel::grid {

struct FusedGemm {
  std::string name;
  DType dtype{};  // of the factors
  int sums = 1;
  scalar::ScalarExpr finish;  // GemmLoop (dispatch/loop_compiler.h) says over what
  Functions functions{.are_shared = true};
};
// The kernel refers to `fused`.
Kernel fused_gemm_kernel(FusedGemm& fused);

}  // namespace pel::grid
