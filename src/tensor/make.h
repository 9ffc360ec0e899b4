// Making tensors and views without passing through dispatch, in addition to tensor.h: bodies of ops use
// these.
#pragma once

#include "pellucid/tensor.h"

#include "tensor/layout.h"

namespace pel {

// Uninitialised, with storage for just these strides.
Tensor make_strided(Dims sizes, Dims strides, DType dtype, Device device);
// A view of `base` at its offset, with `rank` axes whose sizes and strides the caller fills in, in the
// header.
Tensor new_view(const Tensor& base, std::size_t rank);
// Another look at the storage of `base`. The caller has made sure that it stays inside.
Tensor make_view(const Tensor& base, Dims sizes, Dims strides, Dim offset);
inline Tensor make_view(const Tensor& base, Dims sizes, Dims strides) {
  return make_view(base, sizes, strides, base.storage_offset());
}
// What a tensor with so many bytes of data adds to MemoryStats::data_bytes: none if they lie after its
// header.
std::int64_t counted_bytes(std::int64_t bytes, std::size_t rank);
// "f32[2, 3]"
std::string describe(const Tensor& tensor);

}  // namespace pel
