// The slices of an axis that an index names, in its order.
#include "pellucid/ops/indexing.h"

#include "base/check.h"
#include "dispatch/op_table.h"
#include "ops/shared/index.h"
#include "ops/shared/vjp.h"

namespace pel {
namespace {

Tensor index_select_body(const Op& op, const Tensor& self, std::int64_t dim, const Tensor& index) {
  const std::int64_t axis = wrap_axis(dim, self.dim());
  PEL_CHECK(index.dim() <= 1, IndexError, "the index is a vector or a tensor without axes, not {}",
            describe(index));
  check_index_dtype(index);
  const Tensor src = with_axes(self), picks = with_axes(index);
  PEL_CHECK(self.dim() > 0 || picks.sizes()[0] == 1, ShapeError,
            "of a tensor without axes one element is selected, not {}", to_string(picks.sizes()[0]));
  DimVector sizes(src.sizes());
  sizes[static_cast<std::size_t>(axis)] = picks.sizes()[0];
  Tensor result = make_dense(self.dim() == 0 ? Dims() : Dims(sizes), self.dtype(), self.device());
  launch(op, {with_axes(result)}, {src, picks}, {Scalar(false), Scalar(axis), Scalar(axis)});
  return result;
}

}  // namespace

namespace ops {
OpDef define_index_select() {
  return define_op<index_select_body>(OpKind::Kernel,
                                      "index_select(Tensor self, int dim, Tensor index) -> Tensor")
      .vjp("self", "dim index",
           [](const Vjp& v) {
             return selected_back(v.grad(), v.sizes("self"), v.get<std::int64_t>("dim"), v["index"]);
           })
      .samples([](Sampler& s) {
        return SampleCalls{{s({3, 4}), Dim(0), s.indices(3, {5})}, {s({3, 4}), Dim(-1), s.indices(4, {})}};
      });
}
}  // namespace ops

Tensor index_select(const Tensor& self, std::int64_t axis, const Tensor& index, Site site) {
  return call<"index_select", index_select_body>(site, self, axis, index);
}

}  // namespace pel
