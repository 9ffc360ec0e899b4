// A copy of self with src written to one slice.
#include "pellucid/ops.h"
#include "pellucid/ops/indexing.h"

#include "base/check.h"
#include "dispatch/op_table.h"
#include "ops/shared/operands.h"
#include "tensor/make.h"

namespace pel {
namespace {

Tensor select_scatter_body(const Tensor& self, const Tensor& src, std::int64_t axis, Dim index) {
  Tensor result = clone(self);
  const Tensor slot = select(result, axis, index);
  PEL_CHECK(agree(slot.sizes(), src.sizes()), ShapeError, "the slice is {} and src {}", describe(slot),
            describe(src));
  slot.copy_(src);
  return result;
}

}  // namespace

namespace ops {
OpDef define_select_scatter() {
  return define_op<select_scatter_body>(
             OpKind::Composite, "select_scatter(Tensor self, Tensor src, int dim, Dim index) -> Tensor")
      .samples([](Sampler& s) { return SampleCalls{{s({3, 4}), s({3}), Dim(-1), Dim(2)}}; });
}
}  // namespace ops

Tensor select_scatter(const Tensor& self, const Tensor& src, std::int64_t axis, Dim index, Site site) {
  return call<"select_scatter", select_scatter_body>(site, self, src, axis, index);
}

}  // namespace pel
