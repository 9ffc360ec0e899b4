// The generated loops of products of matrices: from sums to results.
#pragma once

#include "pellucid/dtype.h"

#include "codegen/loop_ir.h"
#include "ir/scalar.h"

namespace pel::cpu {

// What elements become before they are multiplied: sums of narrow integers wrap in the end as well.
DType gemm_sum_type(DType dtype);
// beta added + alpha sum, stored as `dtype`: over [sum, added], with params [beta, alpha].
scalar::ScalarExpr gemm_finish_expr(DType dtype);

// Its code.
codegen::PelLoopFn* gemm_finish_loop(DType dtype);

}  // namespace pel::cpu
