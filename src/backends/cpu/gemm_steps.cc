#include "backends/cpu/gemm_steps.h"

#include "backends/cpu/isa.h"
#include "backends/cpu/kernel_set.h"
#include "dispatch/pointwise.h"

namespace pel::cpu {

using scalar::ScalarBuilder;
using scalar::Term;

scalar::ScalarExpr gemm_step_expr(DType dtype) {
  const DType type = value_type(dtype);
  ScalarBuilder builder;
  const Term total = builder.input(type);
  const Term x = cast(builder.input(dtype), type), y = cast(builder.input(dtype), type);
  const Term result = dtype == kBool       ? total | (x & y)
                      : is_floating(dtype) ? fma(x, y, total)
                                           : total + x * y;
  return builder.finish({&result, 1});
}

scalar::ScalarExpr gemm_finish_expr(DType dtype) {
  const DType type = value_type(dtype);
  ScalarBuilder builder;
  const Term total = builder.input(type), added = cast(builder.input(dtype), type);
  const Term beta = builder.param(type), alpha = builder.param(type);
  const Term scaled = dtype == kBool       ? (alpha & total) | (beta & added)
                      : is_floating(dtype) ? fma(alpha, total, beta * added)
                                           : alpha * total + beta * added;
  const Term result = cast(scaled, dtype);
  return builder.finish({&result, 1});
}

GemmSteps gemm_steps(DType dtype) {
  const auto code = [](const std::string& name) {
    return find_prebuilt(name)->function[static_cast<int>(*active_isa())];
  };
  const DType type = value_type(dtype);
  return {code(gemm_step_name(dtype)), code(gemm_finish_name(dtype)),
          type == dtype ? nullptr : code(cast_name(type, dtype))};
}

}  // namespace pel::cpu
