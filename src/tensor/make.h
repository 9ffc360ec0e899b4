// Making tensors and views, without passing through dispatch. Bodies of ops use these.
#pragma once

#include "pellucid/tensor.h"

#include "tensor/layout.h"

namespace pel {

// Uninitialised, row-major. Symbolic sizes, or the meta device, give a tensor without data.
Tensor make_dense(Dims sizes, DType dtype, Device device);
// Uninitialised, with storage for just these strides.
Tensor make_strided(Dims sizes, Dims strides, DType dtype, Device device);
// Another look at the storage of `base`. The caller has made sure that it stays inside.
Tensor make_view(const Tensor& base, Dims sizes, Dims strides, Dim offset);
inline Tensor make_view(const Tensor& base, Dims sizes, Dims strides) {
  return make_view(base, sizes, strides, base.storage_offset());
}
// Uninitialised, with the dense layout closest to that of `self`.
Tensor make_like(const Tensor& self, DType dtype, Device device);

// "f32[2, 3]"
std::string describe(const Tensor& tensor);

}  // namespace pel
