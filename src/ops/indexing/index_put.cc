// Values written, or added, where `index` would read.
#include "pellucid/ops.h"
#include "pellucid/ops/indexing.h"

#include "base/check.h"
#include "dispatch/op_table.h"
#include "ops/shared/index.h"
#include "ops/shared/vjp.h"

namespace pel {
namespace {

const Tensor& index_put_in_place(const Op& op, const Tensor& self, ArrayView<Tensor> indices,
                                 const Tensor& values, Accumulate accumulate, Axes axes) {
  PEL_CHECK(values.dtype() == self.dtype(), DTypeError, "the values are {} and self {}; convert one of them",
            describe(values), describe(self));
  const IndexPlan plan = plan_index(self, indices, axes);
  const Tensor wide = broadcast_view(values, plan.sizes);
  check_apart(self, wide);
  std::vector<TensorRef> inputs = {wide};
  inputs.insert(inputs.end(), plan.indices.begin(), plan.indices.end());
  const Combine combine = accumulate == Accumulate::Yes ? Combine::Add : Combine::Write;
  launch(op, {self}, inputs, plan.scalars(static_cast<std::int64_t>(combine)));
  bump_version(self);
  return self;
}

Tensor index_put_body(const Tensor& self, ArrayView<Tensor> indices, const Tensor& values,
                      Accumulate accumulate, Axes axes) {
  Tensor result = clone(self, Layout::RowMajor);
  index_put_(result, indices, values, accumulate, axes);
  return result;
}

}  // namespace

namespace ops {
OpDef define_index_put() {
  OpDef def = define_op<index_put_body>(OpKind::Composite,
                                        "index_put(Tensor self, Tensor[] indices, Tensor values, "
                                        "bool accumulate=False, int[] dim=[]) -> Tensor")
                  .waits("to read how many elements are true, if an index is bool")
                  .samples([](Sampler& s) {
                    using List = std::vector<Tensor>;
                    return SampleCalls{{s({4, 3}), List{s.permuted(4)}, s({3})},
                                       {s({4, 3}), List{s.indices(4, {5})}, s({5, 3}), true},
                                       {s({3, 2, 4}), List{s.indices(3, {2}), s.permuted(2)}, s({2, 1}),
                                        false, std::vector<Dim>{0, 2}},
                                       {s({3, 2}), List{s.condition({3, 2})}, s({})}};
                  });
  def.forms.push_back(
      define_op<index_put_in_place>(OpKind::Kernel,
                                    "index_put_(Tensor(a!) self, Tensor[] indices, Tensor values, "
                                    "bool accumulate=False, int[] dim=[]) -> Tensor(a!)")
          .waits("to read how many elements are true, if an index is bool")
          .vjp("self", "indices accumulate dim",
               [](const Vjp& v) {
                 if (v.get<bool>("accumulate")) return v.grad();
                 return index_put(v.grad(), v.get<ArrayView<Tensor>>("indices"), new_zeros(v.grad(), {}),
                                  Accumulate::No, v.get<Axes>("dim"));
               })
          .vjp("values", "indices dim", [](const Vjp& v) {
            return index(v.grad(), v.get<ArrayView<Tensor>>("indices"), v.get<Axes>("dim"));
          }));
  return def;
}
}  // namespace ops

Tensor index_put(const Tensor& self, ArrayView<Tensor> indices, const Tensor& values, Accumulate accumulate,
                 Axes axes, Site site) {
  return call<"index_put", index_put_body>(site, self, indices, values, accumulate, axes);
}
const Tensor& index_put_(const Tensor& self, ArrayView<Tensor> indices, const Tensor& values,
                         Accumulate accumulate, Axes axes, Site site) {
  return call<"index_put_", index_put_in_place>(site, self, indices, values, accumulate, axes);
}

}  // namespace pel
