// Elementwise ops of one's own, by a formula in terms of built-in elementwise ops:
//
//   // x * tanh(y)
//   const Op& op = register_op(
//       define_elementwise("demo::scaled_tanh(Tensor x, Tensor y) -> Tensor", {{"tanh", {1}}, {"mul", {0,
//       2}}}));
//
// Such an op has a kernel for each dtype, compiled at the first call with that dtype. It broadcasts, promotes
// dtypes, and is fused by compile() like a built-in one, with the same bits.
#pragma once

#include <string>
#include <vector>

#include "pellucid/dtype.h"
#include "pellucid/extend/op.h"
#include "pellucid/scalar.h"

namespace pel {

// One step of a formula. Values are numbered: the arguments of the op, then the steps; the last is the
// result.
struct FormulaStep {
  std::string op;         // a built-in elementwise op, such as "tanh"; empty: the step is `number`
  std::vector<int> args;  // numbers of earlier values
  Scalar number = 0;
};

// Returns the definition of an op that computes in one of `computes`; if all of these are floating, integers
// count as f32. Arguments have the types Tensor, one or more, and Scalar. A result of a comparison is bool.
// Has no gradient: add one with vjp(). Throws a RegistryError that names the step if a formula is not
// well-formed.
PEL_API OpDef define_elementwise(std::string schema, std::vector<FormulaStep> formula,
                                 DTypeSet computes = kFloating);

}  // namespace pel
