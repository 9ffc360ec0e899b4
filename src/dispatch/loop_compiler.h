// How loops over elements and rows that no op has are compiled: a backend says how, compile asks for them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pellucid/extend/op.h"

#include "dispatch/rows.h"
#include "ir/scalar.h"

namespace pel {

// Outputs and inputs of one loop.
inline constexpr int kMostLoopOperands = 16;
// Of one kernel over rows.
inline constexpr int kMostRowInputs = 10, kMostRowOutputs = 6, kMostRowFolds = 8, kMostRowStages = 4;

// What a kernel over rows computes that several calls are: folds in their order, as in a RowProgram (rows.h).
// Expressions of elements are over [inputs, all stages, values folded so far], with params [count, numbers];
// what a row has one of is over [values] alone.
struct RowLoops {
  // Elements that several expressions read, computed once.
  struct Stage {
    DType dtype{};
    std::optional<scalar::ScalarExpr> body;  // none: the loop of a fold computes it
    std::size_t after = 0;                   // this many folds; it reads stages before it
    int output = -1;                         // the output that has them, too
  };
  struct Fold {
    FoldKind kind{};
    std::optional<scalar::ScalarExpr> element;  // none: `finish` makes the value of those before it
    // The same, combined with a value that comes before the inputs. None: rows are walked one by one.
    std::optional<scalar::ScalarExpr> accumulate;
    std::optional<scalar::ScalarExpr> finish;  // over the values before it and the one that is folded
    int stage = -1;                            // the second result of `element`; -1: there is none
  };
  struct Output {
    RowOutput::Kind kind{};
    DType dtype{};
    std::optional<scalar::ScalarExpr> body;  // none: it is a stage
  };
  DType value{};
  std::vector<DType> inputs;
  std::vector<Stage> stages;
  std::vector<Fold> folds;
  std::vector<Output> outputs;
};

// A loop over elements: result i of the body is stored to output i, which has its dtype; input i is read from
// input i. Or a kernel over rows, whose first number says which axes are reduced, a bit each.
struct LoopSource {
  std::string name;
  scalar::ScalarExpr body{};
  std::optional<RowLoops> rows{};
};

// What one of the calls of a loop launched when it was compiled. Where a size stands as a number it may be
// something else at other sizes: x^n is a product where n is 2.
struct LoopPart {
  const Op* op = nullptr;
  DType dtype{};
  std::uint8_t formula = 0;
  bool operator==(const LoopPart&) const = default;
};

// A kernel for each source, in their order. They live as long as `code`.
struct CompiledLoops {
  std::vector<std::vector<LoopPart>> parts;
  std::vector<Kernel> kernels;
  std::vector<std::uint64_t> overwrites;  // of each: outputs that may lie where an input does, a bit each
  std::shared_ptr<const void> code;
};

// All of one graph together. Any thread may call it.
using LoopCompiler = CompiledLoops (*)(const std::vector<LoopSource>& sources);
void set_loop_compiler(DeviceType device, LoopCompiler compiler);
LoopCompiler loop_compiler(DeviceType device);  // null: the backend has none

}  // namespace pel
