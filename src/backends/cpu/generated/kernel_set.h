// The kernels that are built ahead of time: which there are, what each computes, and where its code is.
#pragma once

#include <string>
#include <vector>

#include "pellucid/extend/op.h"

#include "codegen/loop_ir.h"
#include "dispatch/pointwise.h"
#include "dispatch/rows.h"

namespace pel::cpu {

// What one kernel computes, before it is lowered for an ISA.
struct KernelSpec {
  std::string name;  // "gelu_tanh_bf16"
  // The spec whose code it runs: its own, or one that computes the same: for integer operations that mean the
  // same for u8 and i8, i8's.
  std::string code{};
  scalar::ScalarExpr body{};
  std::optional<codegen::Fold> fold{};
  bool has_runs = false;                  // a second function goes over runs of elements
  std::uint64_t repeated = 0, dense = 0;  // inputs that always are, a bit each

  std::uint64_t reads() const;  // inputs that the code reads, a bit each
  codegen::LoopKernel lower(codegen::Isa isa) const;
  std::string content() const;  // of two that compute the same it is the same
};
// The name of a kernel's function.
std::string symbol(std::string_view kernel, codegen::Isa isa);

// The name of the kernel for one formula of an op and one dtype.
std::string kernel_name(const Op& op, std::size_t formula, DType compute);
std::string cast_name(DType from, DType to);
// The name of the kernel for one program of an op over rows, and of its loops: `part` is one of the names
// below and the number of the fold or output.
std::string row_kernel_name(const Op& op, std::size_t program, DType compute);
std::string row_loop_name(const Op& op, std::size_t program, DType compute, std::string_view part,
                          std::size_t number);
inline constexpr std::string_view kFoldLoop = "fold";              // a row to its value
inline constexpr std::string_view kAccumulateLoop = "accumulate";  // values of columns, one more row of them
inline constexpr std::string_view kElementLoop = "element";        // in place of both where elements are kept
inline constexpr std::string_view kFinishLoop = "finish";
inline constexpr std::string_view kOutputLoop = "output";
// Values of one row to one value; two arrays of values to one.
std::string fold_name(FoldKind kind, DType type);
std::string combine_name(FoldKind kind, DType type);

// What follows the sums of products of matrices (gemm_loops.h).
std::string gemm_finish_name(DType dtype);

// All of them: one per op, formula and dtype, one per pair of dtypes for casts, the loops of ops over
// rows, and what follows products.
std::vector<KernelSpec> kernel_set();

// Code of one kernel, built ahead of time.
struct PrebuiltKernel {
  const char* name;
  float cost[codegen::kIsaCount];  // cycles an element, roughly
  codegen::PelLoopFn* function[codegen::kIsaCount];
  std::uint64_t reads;                           // inputs, a bit each; the others may be anything
  codegen::PelRunsFn* runs[codegen::kIsaCount];  // null where there is none
};
// Generated: sorted by name.
extern const PrebuiltKernel kPrebuiltKernels[];
extern const std::size_t kPrebuiltKernelCount;

// Null where there is none of that name.
const PrebuiltKernel* find_prebuilt(std::string_view name);

}  // namespace pel::cpu
