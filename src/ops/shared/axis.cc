#include "ops/shared/axis.h"

namespace pel {

Tensor with_axes(const Tensor& t) { return t.dim() == 0 ? make_view(t, {1}, {1}) : t; }

Dim size_along(const Tensor& self, std::int64_t wrapped_axis) {
  return self.dim() == 0 ? Dim(1) : self.sizes()[static_cast<std::size_t>(wrapped_axis)];
}

Tensor run_scan(const Op& op, const Tensor& self, std::int64_t axis, std::optional<DType> dtype) {
  const std::int64_t along = wrap_axis(axis, self.dim());
  const DType result_dtype = dtype.value_or(is_floating(self.dtype()) ? self.dtype() : kI64);
  Tensor result = make_dense(self.sizes(), result_dtype, self.device());
  launch(op, {with_axes(result)}, {with_axes(converted(self, result_dtype))}, {along});
  return result;
}

std::tuple<Tensor, Tensor> run_scan_with_index(const Op& op, const Tensor& self, std::int64_t axis) {
  const std::int64_t along = wrap_axis(axis, self.dim());
  Tensor values = make_dense(self.sizes(), self.dtype(), self.device());
  Tensor indices = make_dense(self.sizes(), kI64, self.device());
  launch(op, {with_axes(values), with_axes(indices)}, {with_axes(self)}, {along});
  return {values, indices};
}

void check_axis_not_empty(const Tensor& self, std::int64_t wrapped_axis) {
  PEL_CHECK(size_along(self, wrapped_axis) != 0, IndexError, "axis {} of {} has no elements to choose from",
            wrapped_axis, describe(self));
}

std::tuple<Tensor, Tensor> run_nth(const Op& op, const Tensor& self, std::int64_t wrapped_axis, Dim nth,
                                   NanWins nan_wins, KeepDims keepdim) {
  DimVector aligned_sizes, sizes;
  for (std::size_t i = 0; i < self.sizes().size(); ++i) {
    const bool chosen = static_cast<std::int64_t>(i) == wrapped_axis;
    aligned_sizes.push_back(chosen ? Dim(1) : self.sizes()[i]);
    if (!chosen || keepdim == KeepDims::Yes) sizes.push_back(aligned_sizes.back());
  }
  Tensor values = make_dense(sizes, self.dtype(), self.device());
  Tensor indices = make_dense(sizes, kI64, self.device());
  // The kernel sees the results with the input's rank.
  const auto aligned = [&](const Tensor& t) {
    return with_axes(make_view(t, aligned_sizes, row_major_strides(aligned_sizes)));
  };
  launch(op, {aligned(values), aligned(indices)}, {with_axes(self)},
         {wrapped_axis, nth, nan_wins == NanWins::Yes});
  return {values, indices};
}

}  // namespace pel
