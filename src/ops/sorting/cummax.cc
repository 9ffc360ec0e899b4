// The max so far, and its index.
#include "ops/shared/axis.h"
#include "ops/shared/vjp.h"

namespace pel {
namespace {

std::tuple<Tensor, Tensor> cummax_body(const Op& op, const Tensor& self, std::int64_t axis) {
  return run_scan_with_index(op, self, axis);
}

}  // namespace

namespace ops {
OpDef define_cummax() {
  return define_op<cummax_body>(OpKind::Kernel, "cummax(Tensor self, int dim) -> (Tensor, Tensor)")
      .vjp("self", "result1 dim", taken_gradient)
      .samples([](Sampler& s) { return SampleCalls{{s.apart({3, 4}), Dim(-1)}, {s.apart({4, 2}), Dim(0)}}; });
}
}  // namespace ops

std::tuple<Tensor, Tensor> cummax(const Tensor& self, std::int64_t axis, Site site) {
  return call<"cummax", cummax_body>(site, self, axis);
}

}  // namespace pel
