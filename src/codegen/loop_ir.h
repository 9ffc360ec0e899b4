// Loop IR: a kernel as a loop over elements, between scalar expressions and an emitter. Sizes and strides are
// run-time arguments; nothing here knows a size.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pellucid/extend/kernel_args.h"

#include "codegen/isa.h"
#include "ir/scalar.h"

namespace pel::codegen {

// How a kernel is called: `count` > 0 elements, one pointer an operand, outputs first. A stride of an input
// is 1 or 0, in elements; outputs are dense. Returns kDividedByZero or 0.
extern "C" typedef std::uint32_t PelLoopFn(std::int64_t count, void* const* data, const std::int64_t* strides,
                                           const PelScalar* scalars);
inline constexpr std::uint32_t kDividedByZero = 1;

// The same for `runs` > 0 runs of `count` elements, whose first input is dense and whose other inputs repeat.
// Pointers move by `steps`, in bytes, from one run to the next.
extern "C" typedef void PelRunsFn(std::int64_t count, void* const* data, const PelScalar* scalars,
                                  std::int64_t runs, const std::int64_t* steps);

// How a reduction goes over its elements: `kLanes` running values, of which value l takes elements l,
// l + kLanes, …, and then pairs of halves: 32 and 32 never meet in another order, on any ISA.
struct Fold {
  static constexpr int kLanes = 32;
  scalar::ScalarExpr combine;  // of two values
  std::uint64_t initial_bits = 0;
};

struct LoopKernel {
  std::string name;
  int lanes = 1;            // elements an iteration
  scalar::ScalarExpr body;  // Input i is loaded from input i, result i stored to output i
  // Then the first result of the body is folded, and stored after the loop; others are stored as they come.
  std::optional<Fold> fold;
  // Whether there is a second function, of type PelRunsFn. To call a loop for each run of 49 elements takes
  // longer than the loop.
  bool has_runs = false;
  // Inputs whose stride is always 0, and always 1, a bit each: such a loop is spared the choice.
  std::uint64_t repeated = 0, dense = 0;
  std::string runs_name() const { return name + "_runs"; }
};

// One loop over all elements of a pointwise expression.
LoopKernel lower_pointwise(std::string name, scalar::ScalarExpr body, Isa isa);
// One loop that folds the values of `body` into one element.
LoopKernel lower_fold(std::string name, scalar::ScalarExpr body, Fold fold);

// Throws InternalError with the rule that does not hold.
void verify(const LoopKernel& kernel);
std::string to_string(const LoopKernel& kernel);

// Roughly the cycles that one element costs on one core; decides how work is split.
double cost_per_element(const LoopKernel& kernel, Isa isa);

}  // namespace pel::codegen
