// Matrices that stand on the right of many products, kept in the order in which kernels read them.
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

// Packs a matrix [k, n]: for `linear`, weight.t(). While the result lives, products by this view read it in
// place of the matrix, unless the matrix has been written to since.
PEL_API PackedMatrix pack(const Tensor& matrix, Site site = Site::current());

// Lets products pack a matrix on their own when they meet it unchanged for the second time, up to so many
// bytes in all; what was used last stays. 0, as at start unless PELLUCID_PACK_CACHE gives bytes, turns that
// off and forgets them.
PEL_API void set_packing_cache(std::int64_t max_bytes, Site site = Site::current());
PEL_API std::int64_t packing_cache_bytes();  // in use

}  // namespace pel
