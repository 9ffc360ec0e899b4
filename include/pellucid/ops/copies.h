// Copies, casts, fills, and reading a value back to the host. Names and semantics are PyTorch's.
#pragma once

#include "pellucid/tensor.h"

namespace pel {

// Copies. Casts round to nearest even; float to integer goes towards zero and saturates, NaN becomes 0.
PEL_API Tensor clone(const Tensor& self, Layout layout = Layout::Keep, Site site = Site::current());
// Row-major: itself if it already is, a copy otherwise.
PEL_API Tensor contiguous(const Tensor& self, Site site = Site::current());
// Converts to a dtype: returns self if it has that dtype. to_copy always copies.
PEL_API Tensor to(const Tensor& self, DType dtype, Site site = Site::current());
// Copies to a device: returns self if it is there already. A copy to the CPU waits for the device.
PEL_API Tensor to(const Tensor& self, Device device, Site site = Site::current());
PEL_API Tensor to_copy(const Tensor& self, DType dtype, Site site = Site::current());
PEL_API const Tensor& copy_(const Tensor& self, const Tensor& src, Site site = Site::current());
PEL_API const Tensor& fill_(const Tensor& self, const Scalar& value, Site site = Site::current());
PEL_API const Tensor& zero_(const Tensor& self, Site site = Site::current());

// Reads a value back to the host.
PEL_API Scalar item(const Tensor& self, Site site = Site::current());

}  // namespace pel
