// The prebuilt kernels: which ones exist, and what each computes. Their code is in prebuilt_code.h.
#pragma once

#include <string>
#include <vector>

#include "pellucid/extend/op.h"

#include "codegen/loop_ir.h"
#include "dispatch/pointwise.h"
#include "dispatch/rows.h"

namespace pel::cpu {

// A kernel's computation, before it is lowered for an ISA.
struct KernelSpec {
  std::string name;  // "gelu_tanh_bf16"
  // The spec whose code it runs: its own, or that of an equal computation. Integer operations that are the
  // same for u8 and i8 use the code of i8.
  std::string code{};
  scalar::ScalarExpr body{};
  std::optional<codegen::Fold> fold{};
  bool has_runs = false;                  // has a second function, over runs of elements
  std::uint64_t repeated = 0, dense = 0;  // inputs that always repeat, or always are dense, one bit each

  std::uint64_t reads() const;  // inputs that the code reads, one bit each
  codegen::LoopKernel lower(codegen::Isa isa) const;
  std::string content() const;  // equal for equal computations
};
// Returns the symbol of a kernel's function.
std::string symbol(std::string_view kernel, codegen::Isa isa);

// Returns the name of the kernel for one formula of an op and one dtype.
std::string kernel_name(const Op& op, std::size_t formula, DType compute);
std::string cast_name(DType from, DType to);
// Return the name of the kernel for one program of a row op, and of its loops: `part` is one of the names
// below, followed by the number of the fold or output.
std::string row_kernel_name(const Op& op, std::size_t program, DType compute);
std::string row_loop_name(const Op& op, std::size_t program, DType compute, std::string_view part,
                          std::size_t number);
inline constexpr std::string_view kFoldLoop = "fold";              // a row to its value
inline constexpr std::string_view kAccumulateLoop = "accumulate";  // values of columns, adds one more row
inline constexpr std::string_view kElementLoop = "element";        // replaces both if the elements are saved
inline constexpr std::string_view kFinishLoop = "finish";
inline constexpr std::string_view kOutputLoop = "output";
// Return the names of the loops that reduce one row to one value, and two arrays of values to one.
std::string fold_name(FoldKind kind, DType type);
std::string combine_name(FoldKind kind, DType type);

// Returns the name of the GEMM epilogue (gemm_loops.h).
std::string gemm_finish_name(DType dtype);

// Returns all kernels: one per op, formula and dtype, one per pair of dtypes for casts, the loops of row ops,
// the GEMM epilogues, and loops that hand-written kernels call.
std::vector<KernelSpec> kernel_set();

}  // namespace pel::cpu
