// The k largest or smallest elements along an axis, with their indices.
#include "ops/shared/axis.h"
#include "ops/shared/vjp.h"

namespace pel {
namespace {

std::tuple<Tensor, Tensor> topk_body(const Op& op, const Tensor& self, Dim k, std::int64_t axis,
                                     Largest largest, Sorted) {
  const std::int64_t along = wrap_axis(axis, self.dim());
  const Dim size = size_along(self, along);
  PEL_CHECK(k >= 0 && k <= size, ValueError, "k is {}; it must be from 0 to the size of axis {} of {}, {}",
            to_string(k), axis, describe(self), to_string(size));
  DimVector sizes(self.sizes());  // the result for a tensor without axes is itself, for k = 0 too
  if (self.dim() > 0) sizes[static_cast<std::size_t>(along)] = k;
  Tensor values = make_dense(sizes, self.dtype(), self.device());
  Tensor indices = make_dense(sizes, kI64, self.device());
  launch(op, {with_axes(values), with_axes(indices)}, {with_axes(self)}, {along, largest == Largest::Yes});
  return {values, indices};
}

}  // namespace

namespace ops {
OpDef define_topk() {
  return define_op<topk_body>(
             OpKind::Kernel,
             "topk(Tensor self, Dim k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor, Tensor)")
      .dtypes(kFloating | kIntegral)
      .vjp("self", "result1 dim", taken_gradient)
      .samples([](Sampler& s) {
        return SampleCalls{{s.apart({3, 4}), Dim(2)}, {s.apart({4, 2}), Dim(3), Dim(0), false}};
      });
}
}  // namespace ops

std::tuple<Tensor, Tensor> topk(const Tensor& self, Dim k, std::int64_t axis, Largest largest, Sorted sorted,
                                Site site) {
  return call<"topk", topk_body>(site, self, k, axis, largest, sorted);
}

}  // namespace pel
