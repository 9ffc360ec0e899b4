// Fused elementwise loops, row reductions and matmuls: the compiler describes them, a backend compiles them
// for its device.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pellucid/array_view.h"
#include "pellucid/extend/op.h"

#include "dispatch/rows.h"
#include "ir/scalar.h"

namespace pel {

// Outputs and inputs of one loop.
inline constexpr int kMaxLoopOperands = 16;
// Of one row reduction.
inline constexpr int kMaxRowInputs = 10, kMaxRowOutputs = 6, kMaxRowFolds = 8, kMaxRowStages = 4;

// A fused row reduction: folds in their order, as in a RowProgram (rows.h). Expressions of elements are over
// [inputs, all stages, values folded so far], with params [count, numbers]; expressions of row values are
// over [values] alone.
struct RowLoops {
  // Elements that several expressions read, computed once.
  struct Stage {
    DType dtype{};
    std::optional<scalar::ScalarExpr> body;  // none: the loop of a fold computes it
    std::size_t after = 0;                   // this many folds; it reads stages before it
    int output = -1;                         // the output that they are stored to as well
  };
  struct Fold {
    FoldKind kind{};
    std::optional<scalar::ScalarExpr> element;  // none: `finish` computes the value from those before it
    // The same, combined with a value that precedes the inputs. None: rows are processed one by one.
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

// A matmul whose sums go through an elementwise loop. The first input of the body is the sum, in the type in
// which `dtype` is computed, and the second the tensor that the matmul adds, if it adds one, or the sum of a
// second matmul with the same left factor; then other inputs. The kernel's inputs are the left factor, the
// right ones, and then those. All operands have the rank of the results, whose last two axes are rows and
// columns, and which are dense along their columns except for the first; a stride of 0 repeats elements. The
// first two numbers are beta and alpha.
struct GemmLoop {
  DType dtype{};  // of the factors
  bool adds = false;
  int sums = 1;  // two add nothing
};

// An elementwise loop: result i of the body is stored to output i, which has its dtype; input i is read from
// input i. Or a row reduction, whose first number says which axes are reduced, a bit each.
struct LoopSource {
  std::string name;
  scalar::ScalarExpr body{};
  std::optional<RowLoops> rows{};
  std::optional<GemmLoop> gemm{};
};

// The launch of one of the fused calls at the time of compilation. If a size is used as a number, other sizes
// may lead to another launch: x^n is a multiplication if n is 2.
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
  std::vector<std::uint64_t> overwrites;  // of each: outputs that may share memory with an input, a bit each
  std::shared_ptr<const void> code;
};

// Compiles all loops of one graph together. Any thread may call it.
using LoopCompiler = CompiledLoops (*)(const std::vector<LoopSource>& sources);
void set_loop_compiler(DeviceType device, LoopCompiler compiler);
LoopCompiler loop_compiler(DeviceType device);  // null: the backend has none

// Loops compiled for one instruction set, as bytes.
struct SavedLoops {
  std::string_view isa;  // "avx2"
  std::string_view bytes;
};
// Loops as files have them. Any thread may call both functions.
struct LoopFiles {
  // Compiles for an instruction set, which this processor need not have. Null: the backend has no compiler.
  std::string (*save)(const std::vector<LoopSource>& sources, std::string_view isa);
  // Needs no compiler. Takes the best of the instruction sets that this processor has; `sources` are those of
  // save(). A FileError says what is missing, or that another version has saved them.
  CompiledLoops (*load)(const std::vector<LoopSource>& sources, ArrayView<SavedLoops> saved);
};
void set_loop_files(DeviceType device, const LoopFiles* files);
const LoopFiles* loop_files(DeviceType device);  // null: loops of this device cannot be saved

}  // namespace pel
