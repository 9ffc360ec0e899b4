// What gradients of many ops have in common.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "pellucid/extend/vjp.h"
#include "pellucid/ops.h"
#include "pellucid/ops/indexing.h"
#include "pellucid/ops/pointwise.h"
#include "pellucid/ops/reductions.h"

namespace pel {

// factor t; t itself where the factor is 1.
Tensor scaled(const Tensor& t, const Scalar& factor);
// A reduction's gradient with the reduced axes back, of size 1. `axes` empty: all were reduced.
Tensor with_axes_kept(const Tensor& grad, Dims sizes, Axes axes, KeepDims keepdim);
// An axis that may be missing, as a list.
std::vector<std::int64_t> axes_of(std::optional<std::int64_t> axis);
// How many elements are reduced to one. `axes` empty: all.
Dim count_along(Dims sizes, Axes axes);

// In the gradient's dtype, on its device.
Tensor new_zeros(const Tensor& grad, Dims sizes);
// The gradient of `self` where the result is a part of it: zeros elsewhere.
template <class View>
Tensor placed(const Vjp& v, View&& part_of) {
  const Tensor whole = new_zeros(v.grad(), v.sizes("self"));
  copy_(part_of(whole), v.grad());
  return whole;
}

// Of a result; undefined where nothing flows.
inline Tensor grad_or_none(const Vjp& v, std::size_t result) {
  return v.has_grad(result) ? v.grad(result) : Tensor();
}
// The sum, of which either may be undefined.
inline Tensor sum_of_flows(const Tensor& a, const Tensor& b) {
  return !a.defined() ? b : !b.defined() ? a : a + b;
}
// Of the first `count` results.
std::vector<Tensor> gradients_of(const Vjp& v, std::size_t count);

// Each element added where gather took it from.
Tensor gathered_back(const Tensor& grad, Dims sizes, std::int64_t axis, const Tensor& index);
// Each slice added to the one that index_select took.
Tensor selected_back(const Tensor& grad, Dims sizes, std::int64_t axis, const Tensor& index);
// For results that were taken along `dim`, where result1 says. Keeps "result1 dim".
Tensor taken_gradient(const Vjp& v);
// For one element of each row. Keeps "result1 dim keepdim".
Tensor picked_gradient(const Vjp& v);
// The elements that are equal to the extreme of their row have equal shares.
Tensor shared_by_equals(const Tensor& grad, const Tensor& self, const Tensor& extreme, Axes axes,
                        KeepDims keepdim);
// An equal part for each element of a row.
Tensor mean_gradient(const Tensor& grad, Dims sizes, Axes axes, KeepDims keepdim);
// Sums from each element to the end.
Tensor sums_from_here(const Tensor& t, std::int64_t axis);

// a b, for a factor of a product that has these strides. One whose columns lie in memory as rows do gets its
// gradient so, too: a weight [out, in], of which the product saw the transpose, gets a dense [out, in] one.
Tensor product_gradient(const Tensor& a, const Tensor& b, Dims strides);

// Of pointwise ops.
Tensor zero_gradient(const Vjp& v);  // of a step
// grad where a > b or one of them is NaN; a half where they are equal.
Tensor gradient_of_greater(const Tensor& grad, const Tensor& a, const Tensor& b);
// grad where x is inside of the limits, or NaN.
Tensor inside_gradient(const Tensor& grad, const Tensor& x, const Scalar& low, const Scalar& high);
// Of hardshrink and softshrink, which keep self and lambd.
Tensor shrink_gradient(const Vjp& v);
// Of elu, celu and selu: scale x, below 0 scale alpha (e^(input_scale x) - 1).
struct EluNumbers {
  double alpha, scale, input_scale;
};
Tensor elu_gradient(const Tensor& grad, const Tensor& x, const EluNumbers& numbers);

}  // namespace pel
