// The generated loops of GEMM: from sums to results.
#pragma once

#include "pellucid/dtype.h"

#include "codegen/loop_ir.h"
#include "ir/scalar.h"

namespace pel::cpu {

// Returns the type of the products: sums of narrow integers wrap in the end as well.
DType gemm_sum_type(DType dtype);
// Returns beta added + alpha sum, stored as `dtype`: over [sum, added], with params [beta, alpha].
scalar::ScalarExpr gemm_finish_expr(DType dtype);

// Returns the code of that expression.
codegen::PelLoopFn* gemm_finish_loop(DType dtype);

}  // namespace pel::cpu
