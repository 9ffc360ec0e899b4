// What the matmul ops share: checks of sizes and dtypes, and the launch.
#pragma once

#include "pellucid/ops/linalg.h"

#include "base/check.h"
#include "dispatch/op_table.h"

namespace pel {

struct GemmNumbers {
  Scalar beta = 0, alpha = 1;
};

// Multiplies two matrices, or two batches of them, for tensors of `rank` axes. `added` may be null;
// it broadcasts to the result.
Tensor run_gemm(const Op& op, int rank, const Tensor* added, const Tensor& a, const Tensor& b,
                const GemmNumbers& numbers = {});

}  // namespace pel
