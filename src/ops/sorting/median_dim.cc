// The lower of the two elements in the middle of a sorted axis, and its index. NaN where an element is.
#include "ops/shared/axis.h"
#include "ops/shared/vjp.h"

namespace pel {
namespace {

std::tuple<Tensor, Tensor> median_dim_body(const Op& op, const Tensor& self, std::int64_t axis,
                                           KeepDims keepdim) {
  const std::int64_t along = wrap_axis(axis, self.dim());
  check_axis_not_empty(self, along);
  return run_nth(op, self, along, (size_along(self, along) - 1) / 2, NanWins::Yes, keepdim);
}

}  // namespace

namespace ops {
OpDef define_median_dim() {
  return define_op<median_dim_body>(
             OpKind::Kernel, "median_dim(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor, Tensor)")
      .dtypes(kFloating | kIntegral)
      .vjp("self", "result1 dim keepdim", picked_gradient)
      .samples([](Sampler& s) { return SampleCalls{{s.apart({3, 4})}, {s.apart({3, 4}), Dim(0), true}}; });
}
}  // namespace ops

std::tuple<Tensor, Tensor> median_dim(const Tensor& self, std::int64_t axis, KeepDims keepdim, Site site) {
  return call<"median_dim", median_dim_body>(site, self, axis, keepdim);
}
std::tuple<Tensor, Tensor> median(const Tensor& self, std::int64_t axis, KeepDims keepdim, Site site) {
  return median_dim(self, axis, keepdim, site);
}

}  // namespace pel
