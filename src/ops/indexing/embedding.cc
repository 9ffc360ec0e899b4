// Rows of a table, one for each index.
#include "pellucid/ops/indexing.h"
#include "pellucid/ops/internal.h"

#include "base/check.h"
#include "dispatch/op_table.h"
#include "ops/shared/index.h"

namespace pel {
namespace {

Tensor embedding_body(const Op& op, const Tensor& weight, const Tensor& indices) {
  PEL_CHECK(weight.dim() == 2, ShapeError, "the table has two axes, not {} as {}", weight.dim(),
            describe(weight));
  check_index_dtype(indices);
  DimVector sizes(indices.sizes());
  sizes.push_back(weight.sizes()[1]);
  Tensor result = make_dense(sizes, weight.dtype(), weight.device());
  launch(op, {result}, {weight, indices}, {Scalar(false), Scalar(0), Scalar(0)});
  return result;
}

}  // namespace

namespace ops {
OpDef define_embedding() {
  return define_op<embedding_body>(OpKind::Kernel, "embedding(Tensor weight, Tensor indices) -> Tensor")
      .vjp("weight", "indices",
           [](const Vjp& v) {
             return internal::embedding_dense_backward(v.grad(), v["indices"], v.sizes("weight")[0]);
           })
      .samples([](Sampler& s) {
        return SampleCalls{{s({4, 3}), s.indices(4, {2, 3})}, {s({4, 3}), s.indices(4, {})}};
      });
}
}  // namespace ops

Tensor embedding(const Tensor& weight, const Tensor& indices, Site site) {
  return call<"embedding", embedding_body>(site, weight, indices);
}

}  // namespace pel
