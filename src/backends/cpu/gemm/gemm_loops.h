// The generated loops of GEMM: from sums to results.
#pragma once

#include <string>
#include <vector>

#include "pellucid/dtype.h"
#include "pellucid/ops/linalg.h"

#include "codegen/loop_ir.h"
#include "ir/scalar.h"

namespace pel::cpu {

// Returns the type of the products: sums of narrow integers wrap in the end as well.
DType gemm_sum_type(DType dtype);
// Returns beta added + alpha sum, stored as `dtype`: over [sum, added], with params [beta, alpha].
scalar::ScalarExpr gemm_finish_expr(DType dtype);

// Returns the code of that expression.
codegen::PelLoopFn* gemm_finish_loop(DType dtype);

// The epilogues of fused_linear: activation(sum + bias) + residual, rounded to the dtype after each step,
// over [sum, bias, residual]; and sum + bias as a second result, if it is saved.
struct LinearLoop {
  std::string name;
  scalar::ScalarExpr body;
};
std::vector<LinearLoop> linear_finish_loops();
codegen::PelLoopFn* linear_finish_loop(DType dtype, LinearActivation activation, bool saves);

}  // namespace pel::cpu
