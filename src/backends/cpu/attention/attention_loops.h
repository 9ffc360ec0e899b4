// The generated loops of attention: from scores to weights, and from sums to results.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pellucid/dtype.h"

#include "codegen/loop_ir.h"
#include "ir/scalar.h"

namespace pel::cpu {

struct AttentionLoop {
  std::string name;
  scalar::ScalarExpr body;
  std::optional<codegen::Fold> fold;
  bool has_runs = false;
};
// All of them, for all dtypes.
std::vector<AttentionLoop> attention_loops();

// Those of one dtype of query, key and value. Scores are in its value type; a greatest score is in units of
// log(2), so that weights are powers of 2.
struct AttentionCode {
  // scores × factor + mask, with params [factor], or `hidden` where a mask is false, with params [factor,
  // hidden]; [masked, scores, mask]
  codegen::PelLoopFn *add_mask, *choose;
  // Over the scores of one row, or of rows that see the same keys, a run each:
  codegen::PelRunsFn *greatest, *least;  // [greatest, scores]
  // 2^(score × scale - greatest) and the sum; [sum, weights, scores, greatest], params [scale]. Weights of
  // bf16 are rounded to it, but not in the sum. Where the greatest score is NaN or infinite, they are any
  // numbers.
  codegen::PelRunsFn* weights;
  codegen::PelLoopFn* decay;      // 2^(a - b), for a <= b
  codegen::PelLoopFn* scale;      // a × b
  codegen::PelRunsFn* finish;     // sums × factor, as the dtype
  codegen::PelLoopFn* logsumexp;  // log(2^greatest × sum)
};
const AttentionCode& attention_code(DType dtype);

}  // namespace pel::cpu
