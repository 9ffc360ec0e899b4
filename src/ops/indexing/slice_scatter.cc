// A copy of self with src written to what `slice` would return.
#include "pellucid/ops.h"
#include "pellucid/ops/indexing.h"

#include "base/check.h"
#include "dispatch/op_table.h"
#include "ops/shared/operands.h"
#include "tensor/make.h"

namespace pel {
namespace {

Tensor slice_scatter_body(const Tensor& self, const Tensor& src, std::int64_t axis, std::optional<Dim> start,
                          std::optional<Dim> stop, Dim step) {
  Tensor result = clone(self);
  const Tensor slot = slice(result, axis, start, stop, step);
  PEL_CHECK(agree(slot.sizes(), src.sizes()), ShapeError, "the slice is {} and src {}", describe(slot),
            describe(src));
  slot.copy_(src);
  return result;
}

}  // namespace

namespace ops {
OpDef define_slice_scatter() {
  return define_op<slice_scatter_body>(OpKind::Composite,
                                       "slice_scatter(Tensor self, Tensor src, int dim=0, Dim? start=None, "
                                       "Dim? end=None, Dim step=1) -> Tensor")
      .samples(
          [](Sampler& s) { return SampleCalls{{s({3, 6}), s({3, 2}), Dim(1), Dim(1), Dim(5), Dim(2)}}; });
}
}  // namespace ops

Tensor slice_scatter(const Tensor& self, const Tensor& src, std::int64_t axis, std::optional<Dim> start,
                     std::optional<Dim> end, Dim step, Site site) {
  return call<"slice_scatter", slice_scatter_body>(site, self, src, axis, start, end, step);
}

}  // namespace pel
