// Right-hand matrices of many matmuls, stored in the order in which GEMM kernels read them.
#pragma once

#include <cstdint>
#include <memory>

#include "pellucid/tensor.h"

namespace pel {

struct PackedForm;  // src/packing/packing.h

// A second copy of a matrix. Results have the same bits with it and without it.
class PEL_API PackedMatrix {
 public:
  PackedMatrix() = default;
  explicit PackedMatrix(std::shared_ptr<const PackedForm> form) : form_(std::move(form)) {}
  std::int64_t size_bytes() const;
  bool is_current() const;  // the matrix has not been written to since

 private:
  std::shared_ptr<const PackedForm> form_;
};

// Packs a matrix [k, n]: for `linear`, weight.t(). While the result lives, matmuls by this view read the
// packed copy, unless the matrix has been written to since.
PEL_API PackedMatrix pack(const Tensor& matrix, Site site = Site::current());

// Lets matmuls pack a matrix by themselves when they see it unchanged for the second time, up to max_bytes in
// all; those that were not used in between are dropped for it. 0 turns the cache off and clears it. Unless
// this or PELLUCID_PACK_CACHE sets it, only compiled functions pack (docs/compile.md).
PEL_API void set_packing_cache(std::int64_t max_bytes, Site site = Site::current());
PEL_API std::int64_t packing_cache_bytes();  // in use

}  // namespace pel
