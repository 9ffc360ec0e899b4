#include "ops/shared/window.h"

#include <algorithm>

#include "pellucid/ops.h"
#include "pellucid/ops/indexing.h"
#include "pellucid/ops/pointwise.h"

#include "tensor/overlap.h"

namespace pel {
namespace {

bool shows_twice(const Window& window) {
  std::vector<std::int64_t> sizes, strides;
  for (std::size_t i = 0; i < window.sizes.size(); ++i) {
    sizes.push_back(window.sizes[i].value());
    strides.push_back(window.strides[i].value());
  }
  Operand operand{};
  operand.sizes = sizes.data();
  operand.strides = strides.data();
  operand.rank = static_cast<std::uint8_t>(sizes.size());
  operand.dtype = static_cast<std::uint8_t>(kF32);
  return overlaps_itself(operand);
}

// The offset in memory of each element.
Tensor places(const Window& window, Device device) {
  return window.of(arange(Scalar(window.memory_size()), {kI64, device})).reshape({-1});
}

}  // namespace

Dim Window::memory_size() const {
  const bool is_empty = std::any_of(sizes.begin(), sizes.end(), [](Dim size) { return size == 0; });
  return is_empty ? offset : extent(sizes, strides) + offset;
}

Tensor Window::of(const Tensor& memory) const { return as_strided(memory, sizes, strides, offset); }

Tensor Window::filled(const Tensor& values) const {
  const Tensor memory = zeros({memory_size()}, {values.dtype(), values.device()});
  copy_(of(memory), values);
  return memory;
}

Tensor window_gradient(const Tensor& grad, const Window& base, const Window& view) {
  const Dim size = std::max(base.memory_size(), view.memory_size());
  Tensor memory = zeros({size}, {grad.dtype(), grad.device()});
  if (shows_twice(view)) {
    memory = scatter_add(memory, 0, places(view, grad.device()), grad.reshape({-1}));
  } else {
    copy_(view.of(memory), grad);
  }
  if (!shows_twice(base)) return base.of(memory);
  // Each element of the base stands for a share of the memory that it shows.
  const Tensor at = places(base, grad.device());
  const Tensor count = scatter_add(zeros({size}, {grad.dtype(), grad.device()}), 0, at,
                                   ones({at.numel()}, {grad.dtype(), grad.device()}));
  return base.of(div(memory, clamp_min(count, 1)));
}

}  // namespace pel
