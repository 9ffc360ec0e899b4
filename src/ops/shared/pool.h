// What pooling ops share: their windows, the sizes of the result, the launch.
#pragma once

#include <tuple>

#include "pellucid/ops/pooling.h"

#include "base/check.h"
#include "dispatch/op_table.h"
#include "ops/shared/spatial.h"
#include "tensor/make.h"

namespace pel {

struct PoolNumbers {
  Ints kernel_size, stride, padding, dilation;
  CeilMode ceil_mode = CeilMode::No;
};

// A window along each spatial axis, checked, and the sizes of its result for a tensor with a batch.
struct PoolWindow {
  PoolWindow(const Tensor& batched, const PoolNumbers& numbers);
  std::vector<Scalar> scalars;  // for each axis: size, stride, padding, dilation
  DimVector sizes;              // of the result
};

// The max of each window, and its index.
std::tuple<Tensor, Tensor> run_max_pool(const Op& op, const Tensor& self, std::size_t axes,
                                        const PoolNumbers& numbers);

struct AverageNumbers {
  CountIncludePad count_include_pad = CountIncludePad::Yes;
  std::optional<std::int64_t> divisor;
  void append_to(std::vector<Scalar>& scalars) const;  // 0: no divisor is given
};
Tensor run_avg_pool(const Op& op, const Tensor& self, std::size_t axes, const PoolNumbers& numbers,
                    const AverageNumbers& average);

// The sizes of the result of adaptive pooling, with the batch of `batched`.
DimVector adaptive_sizes(const Tensor& batched, Dims output_size);
Tensor run_adaptive_avg_pool(const Op& op, const Tensor& self, std::size_t axes, Dims output_size);

// Uninitialized, with the sizes of the argument `self`, laid out as the gradient is: for ops that look at the
// sizes of `self` alone, so that nothing of it is saved.
Tensor stand_in_for_self(const Vjp& v);
// The gradient of `self`, if each element of the result came from the position in the spatial axes that its
// index says.
Tensor spread_by_indices(const Vjp& v, const Tensor& indices, std::size_t axes);
// The gradient of `self`, from that of the result, whose sizes, with a batch, must be `wanted`.
Tensor run_pool_backward(const Op& op, const Tensor& grad_output, const Tensor& self, const Tensor* indices,
                         Dims wanted, ArrayView<Scalar> scalars);

}  // namespace pel
