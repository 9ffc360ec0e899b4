// Tensors of one shape joined along a new axis.
#include "pellucid/ops.h"
#include "pellucid/ops/indexing.h"

#include "base/check.h"
#include "dispatch/op_table.h"
#include "tensor/make.h"

namespace pel {
namespace {

Tensor stack_body(ArrayView<Tensor> tensors, std::int64_t dim) {
  PEL_CHECK(!tensors.empty(), ValueError, "there are no tensors to join");
  const Tensor& first = tensors[0];
  const std::int64_t axis = wrap_axis(dim, first.dim() + 1);
  std::vector<Tensor> pieces;
  for (const Tensor& t : tensors) {
    bool same = t.dim() == first.dim();
    for (std::size_t i = 0; same && i < t.sizes().size(); ++i) same = t.sizes()[i] == first.sizes()[i];
    PEL_CHECK(same, ShapeError, "the tensors have the sizes {} and {}, and must have the same",
              to_string(first.sizes()), to_string(t.sizes()));
    pieces.push_back(unsqueeze(t, axis));
  }
  return cat(pieces, axis);
}

}  // namespace

namespace ops {
OpDef define_stack() {
  return define_op<stack_body>(OpKind::Composite, "stack(Tensor[] tensors, int dim=0) -> Tensor");
}
}  // namespace ops

Tensor stack(ArrayView<Tensor> tensors, std::int64_t axis, Site site) {
  return call<"stack", stack_body>(site, tensors, axis);
}

}  // namespace pel
