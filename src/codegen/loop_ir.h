// Loop IR: a kernel as an elementwise loop, between scalar expressions and an emitter. Sizes and strides are
// run-time arguments; nothing here depends on a size.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pellucid/extend/kernel_args.h"

#include "codegen/isa.h"
#include "ir/scalar.h"

namespace pel::codegen {

// The signature of a kernel: `count` > 0 elements, one pointer per operand, outputs first. The stride of an
// input is 1 or 0, in elements; outputs are dense. Returns kDividedByZero or 0.
extern "C" typedef std::uint32_t PelLoopFn(std::int64_t count, void* const* data, const std::int64_t* strides,
                                           const PelScalar* scalars);
inline constexpr std::uint32_t kDividedByZero = 1;

// The same for `runs` > 0 runs of `count` elements: the first input is dense, the other inputs repeat.
// Pointers advance by `steps`, in bytes, from one run to the next.
extern "C" typedef void PelRunsFn(std::int64_t count, void* const* data, const PelScalar* scalars,
                                  std::int64_t runs, const std::int64_t* steps);

// The order in which a reduction combines its elements: `kLanes` accumulators, where accumulator l takes
// elements l, l + kLanes, …; then the halves are combined pairwise. The order is the same on every ISA.
struct Fold {
  static constexpr int kLanes = 32;
  scalar::ScalarExpr combine;  // combines two values
  std::uint64_t initial_bits = 0;
};

struct LoopKernel {
  std::string name;
  int lanes = 1;            // elements per iteration
  scalar::ScalarExpr body;  // Input i is loaded from input i, result i stored to output i
  // Then the first result of the body is reduced, and stored after the loop; others are stored in each
  // iteration.
  std::optional<Fold> fold;
  // Whether there is a second function, of type PelRunsFn. Calling a loop for each run of 49 elements takes
  // longer than the loop.
  bool has_runs = false;
  // Inputs whose stride is always 0, and always 1, one bit each: the loop needs no branch on the stride.
  std::uint64_t repeated = 0, dense = 0;
  std::string runs_name() const { return name + "_runs"; }
};

// Lowers an elementwise expression to one elementwise loop.
LoopKernel lower_pointwise(std::string name, scalar::ScalarExpr body, Isa isa);
// Lowers to one loop that reduces the values of `body` to one element.
LoopKernel lower_fold(std::string name, scalar::ScalarExpr body, Fold fold);

// Throws InternalError with the violated rule.
void verify(const LoopKernel& kernel);
std::string to_string(const LoopKernel& kernel);
// Returns bytes that are equal for equal kernels only, whatever their names.
std::string content(const LoopKernel& kernel);

// Estimates the cycles per element on one core; decides how the elements are split among threads.
double cost_per_element(const LoopKernel& kernel, Isa isa);

}  // namespace pel::codegen
