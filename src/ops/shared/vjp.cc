#include "ops/shared/vjp.h"

#include "pellucid/ops/linalg.h"
#include "pellucid/ops/sorting.h"

#include "tensor/layout.h"

namespace pel {

Tensor scaled(const Tensor& t, const Scalar& factor) {
  const bool is_one = !factor.is_symbolic() && factor.to_double() == 1;
  return is_one ? t : mul(t, factor);
}

Tensor with_axes_kept(const Tensor& grad, Dims sizes, Axes axes, KeepDims keepdim) {
  if (keepdim == KeepDims::Yes) return grad;
  DimVector kept(sizes);
  const auto rank = static_cast<std::int64_t>(sizes.size());
  for (std::size_t i = 0; i < kept.size() && axes.empty(); ++i) kept[i] = 1;
  for (const std::int64_t axis : axes) {
    if (rank > 0) kept[static_cast<std::size_t>(wrap_axis(axis, rank))] = 1;
  }
  return reshape(grad, kept);
}

Tensor product_gradient(const Tensor& a, const Tensor& b, Dims strides) {
  const bool is_transposed = is_literally(strides[0], 1) && !is_literally(strides[1], 1);
  return is_transposed ? mm(b.t(), a.t()).t() : mm(a, b);
}

Tensor zero_gradient(const Vjp& v) { return zeros_like(v.grad()); }

Tensor gradient_of_greater(const Tensor& grad, const Tensor& a, const Tensor& b) {
  return masked_fill(where(eq(a, b), grad * 0.5, grad), lt(a, b), 0);
}

Tensor inside_gradient(const Tensor& grad, const Tensor& x, const Scalar& low, const Scalar& high) {
  return masked_fill(grad, logical_or(le(x, low), ge(x, high)), 0);
}

Tensor shrink_gradient(const Vjp& v) {
  return masked_fill(v.grad(), le(abs(v["self"]), v.get<Scalar>("lambd")), 0);
}

Tensor elu_gradient(const Tensor& grad, const Tensor& x, const EluNumbers& numbers) {
  const auto [alpha, scale, input_scale] = numbers;
  // The power stays finite where it is not taken: a gradient of the gradient multiplies it with 0.
  const Tensor power = exp(scaled(clamp_max(x, 0), input_scale));
  return grad * where(gt(x, 0), scale, scaled(power, alpha * scale * input_scale));
}

std::vector<std::int64_t> axes_of(std::optional<std::int64_t> axis) {
  return axis ? std::vector<std::int64_t>{*axis} : std::vector<std::int64_t>{};
}

Dim count_along(Dims sizes, Axes axes) {
  Dim count = 1;
  const auto rank = static_cast<std::int64_t>(sizes.size());
  for (std::size_t i = 0; i < sizes.size() && axes.empty(); ++i) count *= sizes[i];
  for (const std::int64_t axis : axes) {
    if (rank > 0) count *= sizes[static_cast<std::size_t>(wrap_axis(axis, rank))];
  }
  return count;
}

Tensor new_zeros(const Tensor& grad, Dims sizes) { return zeros(sizes, {grad.dtype(), grad.device()}); }

std::vector<Tensor> gradients_of(const Vjp& v, std::size_t count) {
  std::vector<Tensor> grads;
  for (std::size_t i = 0; i < count; ++i) grads.push_back(v.grad(i));
  return grads;
}

Tensor gathered_back(const Tensor& grad, Dims sizes, std::int64_t axis, const Tensor& index) {
  return scatter_add(new_zeros(grad, sizes), axis, index, grad);
}

Tensor selected_back(const Tensor& grad, Dims sizes, std::int64_t axis, const Tensor& index) {
  if (sizes.empty()) return reshape(grad, sizes);
  return index_put(new_zeros(grad, sizes), {reshape(index, {-1})}, grad, Accumulate::Yes, {axis});
}

Tensor taken_gradient(const Vjp& v) {
  return gathered_back(v.grad(), v.sizes("self"), v.get<std::int64_t>("dim"), v["result1"]);
}

Tensor picked_gradient(const Vjp& v) {
  const Dims sizes = v.sizes("self");
  const auto axis = v.get<std::int64_t>("dim");
  const auto keepdim = v.get<KeepDims>("keepdim");
  return gathered_back(with_axes_kept(v.grad(), sizes, {axis}, keepdim), sizes, axis,
                       with_axes_kept(v["result1"], sizes, {axis}, keepdim));
}

Tensor shared_by_equals(const Tensor& grad, const Tensor& self, const Tensor& extreme, Axes axes,
                        KeepDims keepdim) {
  const Tensor is_extreme = eq(self, with_axes_kept(extreme, self.sizes(), axes, keepdim));
  const Tensor share =
      with_axes_kept(grad, self.sizes(), axes, keepdim) / sum(is_extreme, axes, KeepDims::Yes);
  return where(is_extreme, share, 0);
}

Tensor mean_gradient(const Tensor& grad, Dims sizes, Axes axes, KeepDims keepdim) {
  return expand(with_axes_kept(grad, sizes, axes, keepdim) / Scalar(count_along(sizes, axes)), sizes);
}

Tensor sums_from_here(const Tensor& t, std::int64_t axis) {
  return flip(cumsum(flip(t, {axis}), axis), {axis});
}

}  // namespace pel
