// What a matmul stores of the sum of its products.
#pragma once

#include "ir/scalar.h"

namespace pel {

// beta added + alpha sum, rounded to `dtype`. The arguments have the type in which `dtype` is computed.
inline scalar::Term gemm_result(DType dtype, scalar::Term sum, scalar::Term added, scalar::Term beta,
                                scalar::Term alpha) {
  const scalar::Term result = dtype == kBool       ? (alpha & sum) | (beta & added)
                              : is_floating(dtype) ? fma(alpha, sum, beta * added)
                                                   : alpha * sum + beta * added;
  return cast(result, dtype);
}

}  // namespace pel
