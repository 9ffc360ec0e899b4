// The distances of the rows of one matrix from each other: of each pair once, in the order of the upper
// triangle.
#include "pellucid/ops.h"
#include "pellucid/ops/indexing.h"
#include "pellucid/ops/internal.h"
#include "pellucid/ops/pointwise.h"
#include "pellucid/ops/reductions.h"

#include "base/check.h"
#include "dispatch/op_table.h"
#include "tensor/make.h"

namespace pel {
namespace {

Tensor pdist_forward_body(const Tensor& self, double p) {
  PEL_CHECK(self.dim() == 2, ShapeError, "rows are of one matrix, not of {}", describe(self));
  const Dim count = self.sizes()[0];
  const Tensor all = internal::_cdist_forward(self, self, p);
  // Pair k of the triangle is in row i, the largest for which i (2 n - i - 1) / 2 <= k. In f64 the root
  // is exact enough for every count whose distances fit into memory.
  const Tensor k = arange(Scalar(count * (count - 1) / Dim(2)), {kI64, self.device()});
  const Tensor wide = to(k, kF64);
  const Tensor half = full({}, Scalar(count), {kF64, self.device()});
  const Tensor middle = sub(half, 0.5);
  const Tensor row = to(floor(sub(middle, sqrt(sub(mul(middle, middle), add(mul(wide, 2), 1))))), kI64);
  const Tensor before = floor_divide(mul(row, sub(sub(mul(to(half, kI64), 2), row), 1)), 2);
  const Tensor column = add(add(sub(k, before), row), 1);
  return index(all, {row, column});
}

}  // namespace

namespace ops {
OpDef define__pdist_forward() {
  return define_op<pdist_forward_body>(OpKind::Composite, "_pdist_forward(Tensor self, float p=2) -> Tensor")
      .dtypes(kFloating)
      .samples([](Sampler& s) { return SampleCalls{{s({4, 3})}, {s({3, 2}), 1.0}, {s({3, 2}), 3.0}}; });
}
}  // namespace ops

namespace internal {
Tensor _pdist_forward(const Tensor& self, double p, Site site) {
  return call<"_pdist_forward", pdist_forward_body>(site, self, p);
}
}  // namespace internal

}  // namespace pel
