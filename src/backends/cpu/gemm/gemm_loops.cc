#include "backends/cpu/gemm/gemm_loops.h"

#include <array>

#include "backends/cpu/generated/kernel_set.h"
#include "backends/cpu/isa.h"
#include "dispatch/gemm_result.h"
#include "dispatch/pointwise.h"

namespace pel::cpu {

using scalar::ScalarBuilder;
using scalar::Term;

DType gemm_sum_type(DType dtype) {
  if (is_floating(dtype)) return value_type(dtype);
  return dtype == kI64 ? kI64 : kI32;
}

scalar::ScalarExpr gemm_finish_expr(DType dtype) {
  const DType type = value_type(dtype);
  ScalarBuilder builder;
  const Term sum = cast(builder.input(gemm_sum_type(dtype)), type), added = cast(builder.input(dtype), type);
  const Term beta = builder.param(type), alpha = builder.param(type);
  const Term result = gemm_result(dtype, sum, added, beta, alpha);
  return builder.finish({&result, 1});
}

codegen::PelLoopFn* gemm_finish_loop(DType dtype) {
  static const auto kAll = [] {
    std::array<codegen::PelLoopFn*, kDTypeCount> all{};
    for (int d = 0; d < kDTypeCount; ++d)
      all[static_cast<std::size_t>(d)] =
          find_prebuilt(gemm_finish_name(static_cast<DType>(d)))->function[static_cast<int>(*active_isa())];
    return all;
  }();
  return kAll[static_cast<std::size_t>(dtype)];
}

}  // namespace pel::cpu
