#include "dispatch/attention_formulas.h"

#include <numbers>
#include <vector>

#include "dispatch/pointwise.h"
#include "ir/math.h"

namespace pel::attention_formulas {
namespace {

using scalar::ScalarBuilder;
using scalar::Term;

template <class F>
scalar::ScalarExpr build(F&& f) {
  ScalarBuilder builder;
  const std::vector<Term> results = f(builder);
  return builder.finish({results.data(), results.size()});
}

// Computes 2^x for x <= 0, and 0 on underflow: a third of the operations of exp2, which handles all numbers.
// The error bound of the polynomial is 2e-9, or 9e-8 for bf16.
Term small_power(Term x, DType dtype) {
  if (dtype == kF64) return exp2(x);
  constexpr double kMinExponent = -127,
                   kShift = 0x1.8p23;  // x + kShift has round(x) in its last bits
  constexpr double kFine[] = {1,
                              0.6931472028550816,
                              0.24022647913615655,
                              0.05550332471093718,
                              0.009618437358922613,
                              0.001339887442534795,
                              0.00015353361619409978};
  constexpr double kCoarse[] = {1,
                                0.6931469775989958,
                                0.24022242085059828,
                                0.05550733743523616,
                                0.009671512654120138,
                                0.0013264727112260722};
  const Term bounded = max(kMinExponent, x), shifted = bounded + kShift, rest = bounded - (shifted - kShift);
  const Term power = dtype == kBF16 ? polynomial(rest, ArrayView<double>(kCoarse, std::size(kCoarse)))
                                    : polynomial(rest, ArrayView<double>(kFine, std::size(kFine)));
  return bitcast(bitcast(power, kI32) + (bitcast(shifted, kI32) << 23), kF32);
}
// Rounds to bf16, for numbers that are neither negative nor NaN. Ties round up: ties to even take three more
// operations.
Term rounded_weight(Term x) { return bitcast(cast(shr_logical(bitcast(x, kI32) + 0x8000, 16), kI16), kBF16); }

}  // namespace

scalar::ScalarExpr add_mask(DType type, DType mask) {
  return build([&](ScalarBuilder& b) {
    const Term score = b.input(type), added = cast(b.input(mask), type);
    return std::vector{score * b.param(type) + added};
  });
}
scalar::ScalarExpr choose(DType type) {
  return build([&](ScalarBuilder& b) {
    const Term score = b.input(type), chosen = b.input(kBool), factor = b.param(type), hidden = b.param(type);
    return std::vector{select(chosen, score * factor, hidden)};
  });
}
scalar::ScalarExpr weights(DType dtype) {
  return build([&](ScalarBuilder& b) {
    const DType type = value_type(dtype);
    const Term score = b.input(type), row_max = b.input(type), scale = b.param(type);
    const Term weight = small_power(fma(score, scale, -row_max), dtype);
    return std::vector{weight, dtype == kBF16 ? rounded_weight(weight) : weight};
  });
}
scalar::ScalarExpr decay(DType type) {
  return build([&](ScalarBuilder& b) {
    const Term before = b.input(type), now = b.input(type);
    return std::vector{small_power(before - now, type)};
  });
}
scalar::ScalarExpr finish(DType dtype) {
  return build([&](ScalarBuilder& b) {
    const Term sum = b.input(value_type(dtype)), factor = b.input(value_type(dtype));
    return std::vector{cast(sum * factor + 0, dtype)};
  });
}
scalar::ScalarExpr logsumexp(DType type) {
  return build([&](ScalarBuilder& b) {
    const Term row_max = b.input(type), sum = b.input(type);
    return std::vector{row_max * std::numbers::ln2 + log(sum)};
  });
}

}  // namespace pel::attention_formulas
