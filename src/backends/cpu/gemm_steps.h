// The generated loops of products of matrices.
#pragma once

#include "pellucid/dtype.h"

#include "codegen/loop_ir.h"
#include "ir/scalar.h"

namespace pel::cpu {

// total + x y, of totals in the value type and elements of `dtype`.
scalar::ScalarExpr gemm_step_expr(DType dtype);
// beta added + alpha total, stored as `dtype`: over [total, added], with params [beta, alpha].
scalar::ScalarExpr gemm_finish_expr(DType dtype);

struct GemmSteps {
  codegen::PelLoopFn* step;
  codegen::PelLoopFn* finish;
  codegen::PelLoopFn* store;  // totals to elements; null where they are the same
};
GemmSteps gemm_steps(DType dtype);

}  // namespace pel::cpu
