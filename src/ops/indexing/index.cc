// x[rows, :, columns]: tensors as indices of some axes.
#include "ops/shared/index.h"

#include "pellucid/ops/indexing.h"

#include "base/check.h"
#include "dispatch/op_table.h"
#include "ops/shared/vjp.h"

namespace pel {
namespace {

Tensor index_body(const Op& op, const Tensor& self, ArrayView<Tensor> indices, Axes axes) {
  PEL_CHECK(!indices.empty(), IndexError, "there is no index");
  const IndexPlan plan = plan_index(self, indices, axes);
  Tensor result = make_dense(plan.sizes, self.dtype(), self.device());
  std::vector<TensorRef> inputs = {self};
  inputs.insert(inputs.end(), plan.indices.begin(), plan.indices.end());
  launch(op, {result}, inputs, plan.scalars(true));
  return result;
}

}  // namespace

namespace ops {
OpDef define_index() {
  return define_op<index_body>(OpKind::Kernel, "index(Tensor self, Tensor[] indices, int[] dim=[]) -> Tensor")
      .waits("to read how many elements are true, if an index is bool")
      .vjp("self", "indices dim",
           [](const Vjp& v) {
             return index_put(new_zeros(v.grad(), v.sizes("self")), v.get<ArrayView<Tensor>>("indices"),
                              v.grad(), Accumulate::Yes, v.get<Axes>("dim"));
           })
      .samples([](Sampler& s) {
        using List = std::vector<Tensor>;
        return SampleCalls{
            {s({3, 4}), List{s.indices(3, {2, 2})}},
            {s({3, 2, 4}), List{s.indices(3, {5}), s.indices(4, {5}) - 4}, std::vector<Dim>{0, 2}},
            {s({3, 2}), List{s.condition({3, 2})}}};
      });
}
}  // namespace ops

Tensor index(const Tensor& self, ArrayView<Tensor> indices, Axes axes, Site site) {
  return call<"index", index_body>(site, self, indices, axes);
}

}  // namespace pel
