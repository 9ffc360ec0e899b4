// Sorted along an axis, with the index that each element had. Stable; NaN is the largest.
#include "ops/shared/axis.h"
#include "ops/shared/vjp.h"

namespace pel {
namespace {

std::tuple<Tensor, Tensor> sort_body(const Op& op, const Tensor& self, std::int64_t axis,
                                     Descending descending) {
  const std::int64_t along = wrap_axis(axis, self.dim());
  Tensor values = make_like(self, self.dtype(), self.device());
  Tensor indices = make_like(self, kI64, self.device());
  launch(op, {with_axes(values), with_axes(indices)}, {with_axes(self)},
         {along, descending == Descending::Yes});
  return {values, indices};
}

}  // namespace

namespace ops {
OpDef define_sort() {
  return define_op<sort_body>(OpKind::Kernel,
                              "sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor, Tensor)")
      .vjp("self", "result1 dim", taken_gradient)
      .samples([](Sampler& s) {
        return SampleCalls{{s.apart({3, 4})}, {s.apart({4, 2}), Dim(0), true}, {s({})}};
      });
}
}  // namespace ops

std::tuple<Tensor, Tensor> sort(const Tensor& self, std::int64_t axis, Descending descending, Site site) {
  return call<"sort", sort_body>(site, self, axis, descending);
}

}  // namespace pel
