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
};
// All of them, for all dtypes.
std::vector<AttentionLoop> attention_loops();

// Those of one dtype of query, key and value. Scores are in its value type; a greatest score is in units of
// log(2), so that weights are powers of 2.
struct AttentionCode {
  // scores × scale + mask, or -inf where a mask is false; [masked, scores, mask], with params [scale]
  codegen::PelLoopFn *add_mask, *choose;
  codegen::PelLoopFn *greatest, *least;  // [greatest, scores]
  // 2^(score × scale - greatest) and the sum; [sum, weights, scores], params [scale, greatest]. Weights of
  // bf16 are rounded to it, but not in the sum. Where the greatest score is NaN or infinite, they are any
  // numbers.
  codegen::PelLoopFn* weights;
  codegen::PelLoopFn* decay;      // 2^(a - b), for a <= b
  codegen::PelLoopFn* scale;      // a × b
  codegen::PelLoopFn* finish;     // sums × factor, as the dtype; params [factor]
  codegen::PelLoopFn* logsumexp;  // log(2^greatest × sum)
};
const AttentionCode& attention_code(DType dtype);

}  // namespace pel::cpu
