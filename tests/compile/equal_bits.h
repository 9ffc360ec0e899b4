// Whether two tensors are the same, bit by bit.
#pragma once

#include "pellucid/tensor.h"

#include "conformance/values.h"
#include "support/bytes.h"

namespace pel::test {

// Sizes, dtype and elements; or neither is defined.
inline bool equal_bits(const Tensor& a, const Tensor& b) {
  if (!a.defined() || !b.defined()) return a.defined() == b.defined();
  return a.dtype() == b.dtype() && to_string(a.sizes()) == to_string(b.sizes()) && bytes_of(a) == bytes_of(b);
}

inline bool equal_bits_and_strides(const Tensor& a, const Tensor& b) {
  return equal_bits(a, b) && to_string(a.strides()) == to_string(b.strides());
}

// All NaNs are one.
inline bool equal_bits_or_nans(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || to_string(a.sizes()) != to_string(b.sizes())) return false;
  const Tensor left = a.clone(Layout::RowMajor), right = b.clone(Layout::RowMajor);
  for (std::int64_t i = 0; i < a.numel().value(); ++i)
    if (!conformance::same_bits(left.raw_data(), right.raw_data(), a.dtype(), i)) return false;
  return true;
}

}  // namespace pel::test
