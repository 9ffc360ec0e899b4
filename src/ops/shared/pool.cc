#include "ops/shared/pool.h"

#include "pellucid/ops.h"
#include "pellucid/ops/indexing.h"

namespace pel {
namespace {

void check_not_empty(const Tensor& batched) {
  for (std::size_t i = 1; i < batched.sizes().size(); ++i)
    PEL_CHECK(batched.sizes()[i] >= 1, ShapeError, "only the batch may be empty; the input is {}",
              describe(batched));
}

}  // namespace

PoolWindow::PoolWindow(const Tensor& batched, const PoolNumbers& numbers) : sizes(batched.sizes()) {
  check_not_empty(batched);
  const std::size_t axes = sizes.size() - 2;
  const SpatialNumbers kernel = per_axis("kernel_size", numbers.kernel_size, axes, 1);
  const SpatialNumbers stride = numbers.stride.empty() ? kernel : per_axis("stride", numbers.stride, axes, 1);
  const SpatialNumbers padding = per_axis("padding", numbers.padding, axes, 0),
                       dilation = per_axis("dilation", numbers.dilation, axes, 1);
  for (std::size_t i = 0; i < axes; ++i) {
    const std::int64_t reach = (kernel[i] - 1) * dilation[i] + 1;
    PEL_CHECK(padding[i] <= reach / 2, ValueError,
              "padding is at most half of what the window reaches over; {} is more than half of {}",
              padding[i], reach);
    const Dim size = batched.sizes()[2 + i], span = size + 2 * padding[i] - reach;
    const std::int64_t extra = numbers.ceil_mode == CeilMode::Yes ? stride[i] - 1 : 0;
    PEL_CHECK(span + extra >= 0, ShapeError,
              "the window reaches over {} elements of spatial axis {}, the padded input has {}", reach, i,
              to_string(size + 2 * padding[i]));
    Dim count = (span + extra) / stride[i] + 1;
    // The last window begins inside of the input or its left padding.
    if (extra > 0 && (count - 1) * stride[i] >= size + padding[i]) count = count - 1;
    sizes[2 + i] = count;
    for (const std::int64_t number : {kernel[i], stride[i], padding[i], dilation[i]})
      scalars.emplace_back(number);
  }
}

std::tuple<Tensor, Tensor> run_max_pool(const Op& op, const Tensor& self, std::size_t axes,
                                        const PoolNumbers& numbers) {
  const Tensor batched = with_batch(self, axes);
  const PoolWindow window(batched, numbers);
  const Tensor values = make_spatial(window.sizes, batched, self.dtype()),
               indices = make_spatial(window.sizes, batched, kI64);
  launch(op, {values, indices}, {batched}, window.scalars);
  return {as_batched(values, self), as_batched(indices, self)};
}

void AverageNumbers::append_to(std::vector<Scalar>& scalars) const {
  PEL_CHECK(!divisor || *divisor != 0, ValueError, "divisor_override is not 0");
  scalars.emplace_back(static_cast<std::int64_t>(count_include_pad));
  scalars.emplace_back(divisor.value_or(0));
}

Tensor run_avg_pool(const Op& op, const Tensor& self, std::size_t axes, const PoolNumbers& numbers,
                    const AverageNumbers& average) {
  const Tensor batched = with_batch(self, axes);
  PoolWindow window(batched, numbers);
  average.append_to(window.scalars);
  const Tensor result = make_spatial(window.sizes, batched, self.dtype());
  launch(op, {result}, {batched}, window.scalars);
  return as_batched(result, self);
}

DimVector adaptive_sizes(const Tensor& batched, Dims output_size) {
  check_not_empty(batched);
  DimVector sizes(batched.sizes());
  const std::size_t axes = sizes.size() - 2;
  PEL_CHECK(output_size.size() == axes, ValueError, "output_size has {} numbers, not {}", axes,
            output_size.size());
  for (std::size_t i = 0; i < axes; ++i) {
    PEL_CHECK(output_size[i] >= 0, ValueError, "output_size {} has a negative number",
              to_string(output_size));
    sizes[2 + i] = output_size[i];
  }
  return sizes;
}

Tensor run_adaptive_avg_pool(const Op& op, const Tensor& self, std::size_t axes, Dims output_size) {
  const Tensor batched = with_batch(self, axes);
  const Tensor result = make_spatial(adaptive_sizes(batched, output_size), batched, self.dtype());
  launch(op, {result}, {batched});
  return as_batched(result, self);
}

Tensor stand_in_for_self(const Vjp& v) { return empty_spatial(v.sizes("self"), v.grad(), v.dtype("self")); }

Tensor spread_by_indices(const Vjp& v, const Tensor& indices, std::size_t axes) {
  const Dims sizes = v.sizes("self");
  const auto first = static_cast<std::int64_t>(sizes.size() - axes);
  const Tensor none = zeros(sizes, {v.dtype("self"), v.grad().device()});
  return scatter_add(none.flatten(first), -1, indices.flatten(first), v.grad().flatten(first)).view(sizes);
}

Tensor run_pool_backward(const Op& op, const Tensor& grad_output, const Tensor& self, const Tensor* indices,
                         Dims wanted, ArrayView<Scalar> scalars) {
  const Tensor grad = with_batch(grad_output, wanted.size() - 2),
               batched = with_batch(self, wanted.size() - 2);
  PEL_CHECK(grad.dtype() == self.dtype(), DTypeError, "the gradient has the input's dtype; {} and {} differ",
            describe(grad_output), describe(self));
  const auto check_sizes = [&](const Tensor& t) {
    for (std::size_t i = 0; i < wanted.size(); ++i)
      PEL_CHECK(t.sizes()[i] == wanted[i], ShapeError, "pooling would return {} here, not {}",
                to_string(wanted), to_string(t.sizes()));
  };
  check_sizes(grad);
  const Tensor result = make_spatial(batched.sizes(), batched, self.dtype());
  if (indices == nullptr) {
    launch(op, {result}, {grad}, scalars);
  } else {
    PEL_CHECK(indices->dtype() == kI64, DTypeError, "indices are i64, not {}", describe(*indices));
    const Tensor places = with_batch(*indices, wanted.size() - 2);
    check_sizes(places);
    launch(op, {result}, {grad, places}, scalars);
  }
  return as_batched(result, self);
}

}  // namespace pel
