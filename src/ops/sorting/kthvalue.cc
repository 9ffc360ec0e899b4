// The k-th smallest element along an axis, and its index.
#include "ops/shared/axis.h"
#include "ops/shared/vjp.h"

namespace pel {
namespace {

std::tuple<Tensor, Tensor> kthvalue_body(const Op& op, const Tensor& self, Dim k, std::int64_t axis,
                                         KeepDims keepdim) {
  const std::int64_t along = wrap_axis(axis, self.dim());
  check_axis_not_empty(self, along);
  const Dim size = size_along(self, along);
  PEL_CHECK(k >= 1 && k <= size, ValueError, "k is {}; axis {} of {} has elements 1 to {}", to_string(k),
            axis, describe(self), to_string(size));
  return run_nth(op, self, along, k - 1, NanWins::No, keepdim);
}

}  // namespace

namespace ops {
OpDef define_kthvalue() {
  return define_op<kthvalue_body>(
             OpKind::Kernel,
             "kthvalue(Tensor self, Dim k, int dim=-1, bool keepdim=False) -> (Tensor, Tensor)")
      .dtypes(kFloating | kIntegral)
      .vjp("self", "result1 dim keepdim", picked_gradient)
      .samples([](Sampler& s) {
        return SampleCalls{{s.apart({3, 4}), Dim(2)}, {s.apart({3, 4}), Dim(3), Dim(0), true}};
      });
}
}  // namespace ops

std::tuple<Tensor, Tensor> kthvalue(const Tensor& self, Dim k, std::int64_t axis, KeepDims keepdim,
                                    Site site) {
  return call<"kthvalue", kthvalue_body>(site, self, k, axis, keepdim);
}

}  // namespace pel
