#include "backends/cpu/gemm/gemm_loops.h"

#include <array>

#include <fmt/format.h>

#include "backends/cpu/generated/kernel_set.h"
#include "backends/cpu/generated/prebuilt_code.h"
#include "backends/cpu/isa.h"
#include "base/check.h"
#include "dispatch/gemm_result.h"
#include "dispatch/op_table.h"
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

namespace {

constexpr auto kActivations = enum_names<LinearActivation>.spellings;

std::string linear_loop_name(DType dtype, LinearActivation activation, bool saves) {
  return fmt::format("linear_{}{}_{}", name(activation), saves ? "_saved" : "", name(dtype));
}

// The formula of the op with this activation; null if there is none.
const Formula* formula_of(LinearActivation activation) {
  switch (activation) {
    case LinearActivation::None:
      return nullptr;
    case LinearActivation::Gelu:
      return &op<"gelu">().pointwise()->formulas[0];
    case LinearActivation::GeluTanh:
      return &op<"gelu">().pointwise()->formulas[1];
    case LinearActivation::Silu:
      return &op<"silu">().pointwise()->formulas[0];
    case LinearActivation::Relu:
      return &op<"relu">().pointwise()->formulas[0];
  }
  PEL_ASSERT(false, "an activation");
}

scalar::ScalarExpr linear_finish_expr(DType dtype, LinearActivation activation, bool saves) {
  const DType type = value_type(dtype);
  ScalarBuilder builder;
  const Term sum = cast(builder.input(gemm_sum_type(dtype)), type), bias = cast(builder.input(dtype), type),
             residual = cast(builder.input(dtype), type), one = sum.constant(1);
  const Term before = gemm_result(dtype, sum, bias, one, one);
  Term x = cast(before, type);
  if (const Formula* formula = formula_of(activation))
    x = cast(cast(formula->term(dtype, {x}, {}), dtype), type);
  const Term results[] = {cast(x + residual, dtype), before};
  return builder.finish({results, saves ? std::size_t{2} : std::size_t{1}});
}

}  // namespace

std::vector<LinearLoop> linear_finish_loops() {
  std::vector<LinearLoop> loops;
  for (const DType dtype : {kF32, kF64, kF16, kBF16}) {
    for (std::size_t i = 0; i < kActivations.size(); ++i) {
      const auto activation = static_cast<LinearActivation>(i);
      for (const bool saves : {false, true})
        loops.push_back(
            {linear_loop_name(dtype, activation, saves), linear_finish_expr(dtype, activation, saves)});
    }
  }
  return loops;
}

codegen::PelLoopFn* linear_finish_loop(DType dtype, LinearActivation activation, bool saves) {
  return find_prebuilt(linear_loop_name(dtype, activation, saves), *active_isa())->function;
}

codegen::PelLoopFn* gemm_finish_loop(DType dtype) {
  static const auto kAll = [] {
    std::array<codegen::PelLoopFn*, kDTypeCount> all{};
    for (int d = 0; d < kDTypeCount; ++d)
      all[static_cast<std::size_t>(d)] =
          find_prebuilt(gemm_finish_name(static_cast<DType>(d)), *active_isa())->function;
    return all;
  }();
  return kAll[static_cast<std::size_t>(dtype)];
}

}  // namespace pel::cpu
