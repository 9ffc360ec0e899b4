// Memory seen through sizes, strides and an offset, and how gradients pass from one such view to another.
#pragma once

#include "pellucid/tensor.h"

#include "tensor/layout.h"

namespace pel {

struct Window {
  DimVector sizes, strides;
  Dim offset;

  explicit Window(const Tensor& t) : sizes(t.sizes()), strides(t.strides()), offset(t.storage_offset()) {}
  Window(Dims s, Dims st, Dim o) : sizes(s), strides(st), offset(o) {}
  Tensor of(const Tensor& memory) const;      // as_strided
  Tensor filled(const Tensor& values) const;  // memory, one axis, that shows `values` through the window
  Dim memory_size() const;
};

// The gradient of what `base` shows, from that of what `view` shows of the same memory.
Tensor window_gradient(const Tensor& grad, const Window& base, const Window& view);

}  // namespace pel
