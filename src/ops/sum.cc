// Sum over axes; none means all. Integers and bool give i64; f16 and bf16 accumulate in f32.
#include "pellucid/ops.h"

#include "base/check.h"
#include "dispatch/op_table.h"
#include "dispatch/reduction.h"
#include "tensor/make.h"

namespace pel {
namespace {

DType sum_type(DType dtype) { return !is_floating(dtype) ? kI64 : dtype == kF64 ? kF64 : kF32; }

// Which axes are reduced; none named means all.
SmallVector<bool, 8> reduced_axes(const Tensor& self, Axes axes) {
  SmallVector<bool, 8> reduced(static_cast<std::size_t>(self.dim()));
  for (bool& axis : reduced) axis = axes.empty();
  for (const std::int64_t axis : axes) {
    const auto at = static_cast<std::size_t>(wrap_axis(axis, self.dim()));
    if (self.dim() == 0) continue;
    PEL_CHECK(!reduced[at], IndexError, "axis {} is named twice", axis);
    reduced[at] = true;
  }
  return reduced;
}

Tensor sum_body(const Op& op, const Tensor& self, Axes axes, KeepDims keep, std::optional<DType> dtype) {
  const SmallVector<bool, 8> reduced = reduced_axes(self, axes);
  DimVector kept_sizes, sizes, strides;
  for (std::size_t i = 0; i < reduced.size(); ++i) {
    kept_sizes.push_back(reduced[i] ? Dim(1) : self.sizes()[i]);
    if (!reduced[i] || keep == KeepDims::Yes) sizes.push_back(kept_sizes.back());
  }
  const DType result_dtype = dtype.value_or(is_floating(self.dtype()) ? self.dtype() : kI64);
  Tensor result = make_dense(sizes, result_dtype, self.device());
  // The kernel sees the result with the input's rank.
  const Tensor aligned = make_view(result, kept_sizes, row_major_strides(kept_sizes));
  if (dtype && *dtype != self.dtype()) {
    const Tensor converted = make_like(self, *dtype, self.device());
    launch(pel::op<"copy_">(), {converted}, {self});
    launch(op, {aligned}, {converted}, {}, Computation{*dtype});
  } else {
    launch(op, {aligned}, {self}, {}, Computation{self.dtype()});
  }
  return result;
}

}  // namespace

namespace ops {
OpDef define_sum() {
  auto facts = std::make_shared<Reduction>();
  facts->value_type = sum_type;
  facts->combine = [](scalar::Term a, scalar::Term b) { return a + b; };
  OpDef def = define_op<sum_body>(
      OpKind::Kernel, "sum(Tensor self, int[] dim=[], bool keepdim=False, *, DType? dtype=None) -> Tensor");
  def.reduction = std::move(facts);
  return def;
}
}  // namespace ops

Tensor sum(const Tensor& self, Axes axes, KeepDims keep, std::optional<DType> dtype, Site site) {
  return call<"sum", sum_body>(site, self, axes, keep, dtype);
}

}  // namespace pel
