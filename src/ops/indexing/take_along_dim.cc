// gather with sizes that broadcast and, along an axis, indices that may count from the end.
#include "pellucid/ops/indexing.h"

#include "base/check.h"
#include "dispatch/op_table.h"
#include "ops/shared/index.h"
#include "ops/shared/vjp.h"

namespace pel {
namespace {

// The sizes both broadcast to; at `axis` those of `self`.
DimVector common_sizes(const Tensor& self, const Tensor& other, std::size_t axis) {
  DimVector sizes(self.sizes()), others(other.sizes());
  others[axis] = sizes[axis];
  PEL_CHECK(!broadcast_clash(sizes, others), ShapeError, "{} and {} do not broadcast outside of axis {}",
            describe(self), describe(other), axis);
  return sizes;
}

Tensor flat(const Tensor& t) { return make_view(row_major(t), {t.numel()}, {Dim(1)}); }

Tensor take_along_dim_body(const Tensor& self, const Tensor& indices, std::optional<std::int64_t> dim) {
  PEL_CHECK(indices.dtype() == kI64, DTypeError, "the indices are i64, not {}", describe(indices));
  if (!dim) {
    const Tensor src = flat(self), picks = flat(indices);
    Tensor result = make_dense(picks.sizes(), self.dtype(), self.device());
    launch(op<"gather">(), {result}, {src, picks}, {Scalar(0), Scalar(false)});
    return result;
  }
  PEL_CHECK(self.dim() > 0, IndexError, "a tensor without axes has no axis {}; leave it out", *dim);
  PEL_CHECK(self.dim() == indices.dim(), ShapeError, "the indices have {} axes and the tensor {}: {} for {}",
            indices.dim(), self.dim(), describe(indices), describe(self));
  const std::int64_t axis = wrap_axis(*dim, self.dim());
  const auto at = static_cast<std::size_t>(axis);
  const Tensor picks = broadcast_view(indices, common_sizes(indices, self, at));
  const Tensor src = broadcast_view(self, common_sizes(self, indices, at));
  Tensor result = make_dense(picks.sizes(), self.dtype(), self.device());
  launch(op<"gather">(), {result}, {src, picks}, {Scalar(axis), Scalar(true)});
  return result;
}

Tensor taken_back(const Vjp& v) {
  const auto dim = v.get<std::optional<std::int64_t>>("dim");
  const Dims sizes = v.sizes("self");
  if (!dim) {
    const Dim count = count_along(sizes, {});
    return reshape(gathered_back(v.grad(), {count}, 0, reshape(v["indices"], {-1})), sizes);
  }
  const Dim along = count_along(sizes, {*dim});
  DimVector wide(v.grad().sizes());
  wide[static_cast<std::size_t>(wrap_axis(*dim, v.grad().dim()))] = along;
  // From the front: of scatter_add none counts from the end.
  const Tensor picks = expand(remainder(v["indices"], Scalar(along)), v.grad().sizes());
  return gathered_back(v.grad(), wide, *dim, picks);
}

}  // namespace

namespace ops {
OpDef define_take_along_dim() {
  return define_op<take_along_dim_body>(
             OpKind::Kernel, "take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor")
      .vjp("self", "indices dim", taken_back)
      .samples([](Sampler& s) {
        return SampleCalls{{s({3, 4}), s.indices(4, {3, 2}), Dim(1)},
                           {s({1, 4}), s.indices(4, {3, 2}) - 4, Dim(-1)},
                           {s({3, 1, 2}), s.indices(3, {2, 2, 1}), Dim(0)},
                           {s({2, 3}), s.indices(6, {2, 2})}};
      });
}
}  // namespace ops

Tensor take_along_dim(const Tensor& self, const Tensor& indices, std::optional<std::int64_t> axis,
                      Site site) {
  return call<"take_along_dim", take_along_dim_body>(site, self, indices, axis);
}

}  // namespace pel
