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
// Returns all loops, for all dtypes.
std::vector<AttentionLoop> attention_loops();

// The loops of one dtype of query, key and value. Scores have its value type; the max of the scores is in
// units of log(2), so that weights are powers of 2.
struct AttentionCode {
  // scores × factor + mask, with params [factor], or `hidden` if a mask is false, with params [factor,
  // hidden]; [masked, scores, mask]
  codegen::PelLoopFn *add_mask, *choose;
  // Over the scores of one row, or of rows that attend to the same keys, one run each:
  codegen::PelRunsFn *row_max, *row_min;  // [max, scores]
  // 2^(score × scale - max) and the sum; [sum, weights, scores, max], params [scale]. Weights of bf16 are
  // rounded, but not in the sum. If the max is NaN or infinite, the weights are undefined.
  codegen::PelRunsFn* weights;
  codegen::PelLoopFn* decay;      // 2^(a - b), for a <= b
  codegen::PelLoopFn* scale;      // a × b
  codegen::PelRunsFn* finish;     // sums × factor, as the dtype
  codegen::PelLoopFn* logsumexp;  // log(2^max × sum)
};
const AttentionCode& attention_code(DType dtype);

}  // namespace pel::cpu
