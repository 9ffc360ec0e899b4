// One element along an axis for each element of the index.
#include "pellucid/ops/indexing.h"

#include "dispatch/op_table.h"
#include "ops/shared/index.h"
#include "ops/shared/vjp.h"

namespace pel {
namespace {

Tensor gather_body(const Op& op, const Tensor& self, std::int64_t dim, const Tensor& index) {
  const std::int64_t axis = wrap_axis(dim, self.dim());
  check_index_dtype(index);
  const Tensor src = with_axes(self), picks = with_axes(index);
  if (!is_literally(index.numel(), 0)) check_gather_sizes(src, picks, static_cast<std::size_t>(axis));
  Tensor result = make_dense(index.sizes(), self.dtype(), self.device());
  launch(op, {with_axes(result)}, {src, picks}, {Scalar(axis), Scalar(false)});
  return result;
}

}  // namespace

namespace ops {
OpDef define_gather() {
  return define_op<gather_body>(OpKind::Kernel, "gather(Tensor self, int dim, Tensor index) -> Tensor")
      .vjp("self", "dim index",
           [](const Vjp& v) {
             return gathered_back(v.grad(), v.sizes("self"), v.get<std::int64_t>("dim"), v["index"]);
           })
      .samples([](Sampler& s) {
        return SampleCalls{{s({3, 4}), Dim(0), s.indices(3, {2, 4})},
                           {s({3, 4}), Dim(-1), s.indices(4, {2, 5})}};
      });
}
}  // namespace ops

Tensor gather(const Tensor& self, std::int64_t axis, const Tensor& index, Site site) {
  return call<"gather", gather_body>(site, self, axis, index);
}

}  // namespace pel
