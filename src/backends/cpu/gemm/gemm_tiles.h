// Products of matrices by tiles of our own, with a hook for what is done to the sums.
//
// The order in which the products of an element are added depends on k alone: neither on the other sizes, nor
// on layouts, packing, threads or the instruction set.
//   bf16       as AMX adds them: blocks of 32 k, in each the even and the odd k in a chain of fused
//              multiply-adds from zero, whose sum is added to the element; denormals are flushed to zero.
//   others     chains of fused multiply-adds, one for every kChainDepth of k, added one after the other.
#pragma once

#include "backends/cpu/gemm/gemm.h"
#include "backends/cpu/gemm/gemm_pack.h"
#include "base/small_vector.h"
#include "codegen/loop_ir.h"

namespace pel::cpu {

inline constexpr std::int64_t kChainDepth = 1024;

// Panels of a matrix that stands on the right, for one family of tiles; or of two, whose panels alternate.
struct PackedPanels {
  const char* data = nullptr;
  int matrices = 1;
};
std::int64_t panels_bytes(const TileFamily& family, std::int64_t k, std::int64_t n);
// From [k, n] matrices, which have one dtype.
void pack_matrices(const TileFamily& family, ArrayView<PackSource> matrices, std::int64_t k, std::int64_t n,
                   char* panels);

// What is done to the sums while they are in L1: a generated loop over [out, sums…, inputs…], row by row.
struct TileEpilogue {
  struct Input {
    Matrix matrix;
    DType dtype;
  };
  codegen::PelLoopFn* loop = nullptr;  // null: the sums, rounded to out_type, are the result
  SmallVector<Input, 4> inputs;        // [m, n]
  const PelScalar* numbers = nullptr;
};

// out = epilogue(a b) for each of a batch.
struct TileProduct {
  std::int64_t batch, m, n, k;
  DType dtype;  // of a and b
  Matrix a, b, out;
  DType out_type;
  TileEpilogue epilogue;
  PackedPanels packed;      // in place of b, where given; of one matrix of a batch
  char* scratch = nullptr;  // scratch_bytes of it; null: taken from the memory of tensors
};
std::int64_t scratch_bytes(const TileProduct& product, const TileFamily& family);
void run_tiles(const TileProduct& product, const TileFamily& family);
inline void run_tiles(const TileProduct& product) { run_tiles(product, tiles_for(product.dtype)); }

}  // namespace pel::cpu
