// The elementwise formulas of attention, which all devices compute alike. `dtype` is that of query, key and
// value, `type` the one that it is computed in, which scores and sums have. The max of the scores of a row is
// in units of log(2), so that weights are powers of 2.
#pragma once

#include "ir/scalar.h"

namespace pel::attention_formulas {

// Over [score, mask], with params [factor], or [factor, hidden] for a bool mask: score × factor + mask, or
// `hidden` where the mask is false.
scalar::ScalarExpr add_mask(DType type, DType mask);
scalar::ScalarExpr choose(DType type);
// 2^(score × scale - max), over [score, max], with params [scale]. Two results for bf16: rounded, and not.
scalar::ScalarExpr weights(DType dtype);
// 2^(before - now) for before <= now, over [before, now].
scalar::ScalarExpr decay(DType type);
// What is stored, over [sum of weighted values, 1 / sum of weights]. Adds a zero: a chain of products may end
// in -0 or 0, depending on how many zero weights follow.
scalar::ScalarExpr finish(DType dtype);
// log(2^max × sum), over [max, sum].
scalar::ScalarExpr logsumexp(DType type);

}  // namespace pel::attention_formulas
