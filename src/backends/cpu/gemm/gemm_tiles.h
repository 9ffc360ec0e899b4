// GEMM with our own tiles, with an epilogue hook for the sums.
//
// The order in which the products of an element are added depends on k alone: not on the other sizes,
// layouts, packing, threads or the instruction set.
//   bf16       the order of AMX: blocks of 32 k, in each the even and the odd k in a chain of fused
//              multiply-adds from zero, whose sum is added to the element; denormals are flushed to zero.
//   others     chains of fused multiply-adds, one for every kChainDepth of k, added one after the other.
#pragma once

#include "backends/cpu/gemm/gemm.h"
#include "backends/cpu/gemm/gemm_pack.h"
#include "base/small_vector.h"
#include "codegen/loop_ir.h"

namespace pel::cpu {

inline constexpr std::int64_t kChainDepth = 1024;
inline constexpr std::int64_t kFewRows = 64;  // of a: up to so many read b once, and packing it does not pay

// Panels of a right operand, for one tile family. Those of two right operands alternate, or are apart.
struct PackedPanels {
  const char* data = nullptr;
  const char* second = nullptr;  // of the second operand, if `data` has those of the first alone
};
std::int64_t panels_bytes(const TileFamily& family, std::int64_t k, std::int64_t n);
// Packs [k, n] matrices, which have one dtype.
void pack_matrices(const TileFamily& family, ArrayView<PackSource> matrices, std::int64_t k, std::int64_t n,
                   char* panels);

// The operation on the sums while they are in L1: a generated loop over [out, more outputs…, sums…, inputs…],
// row by row.
struct TileEpilogue {
  struct Operand {
    Matrix matrix;
    DType dtype;
  };
  codegen::PelLoopFn* loop = nullptr;    // null: the sums, rounded to out_type, are the result
  SmallVector<Operand, 4> inputs;        // [m, n]
  SmallVector<Operand, 1> more_outputs;  // [m, n], whose columns are dense
  const PelScalar* scalars = nullptr;
};

// out = epilogue(a b) for each matrix of a batch; or epilogue(a b, a second), with two sums in each element.
struct TileGemm {
  std::int64_t batch, m, n, k;
  DType dtype;  // of a and b
  Matrix a, b, out;
  DType out_type;
  TileEpilogue epilogue;
  PackedPanels packed;      // replaces b if set; shared by all matrices of a batch
  char* scratch = nullptr;  // scratch_bytes long; null: allocated like a tensor
  int sums = 1;
  Matrix second{};  // as large as b
  // Goes on with the sums in `out`, of the k before: the bits are those of one GEMM over all k, if these were
  // a multiple of kChainDepth. There is one sum without an epilogue, and out_type is the type of sums.
  bool continues = false;
};
std::int64_t scratch_bytes(const TileGemm& gemm, const TileFamily& family);
void run_tiles(const TileGemm& gemm, const TileFamily& family);
inline void run_tiles(const TileGemm& gemm) { run_tiles(gemm, tiles_for(gemm.dtype)); }

}  // namespace pel::cpu
