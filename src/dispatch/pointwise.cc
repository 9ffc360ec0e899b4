#include "dispatch/pointwise.h"

#include "base/check.h"

namespace pel {

scalar::ScalarExpr make_expr(const Pointwise& op, std::size_t formula, DType compute) {
  PEL_ASSERT(formula < op.formulas.size(), "the op has this formula");
  scalar::ScalarBuilder builder;
  std::vector<scalar::Term> inputs, params;
  const DType type = value_type(compute);
  for (int i = 0; i < op.input_count; ++i) {
    const bool is_condition = i == 0 && op.takes_condition;
    inputs.push_back(is_condition ? builder.input(kBool) : cast(builder.input(compute), type));
  }
  for (int i = 0; i < op.param_count; ++i) params.push_back(builder.param(type));
  scalar::Term result = op.formulas[formula].term(compute, inputs, params);
  result = cast(result, op.result_dtype(compute));
  return builder.finish({&result, 1});
}

}  // namespace pel
