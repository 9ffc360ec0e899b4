// The mean of log(sum(e^x)) - x[target] over rows whose target is not ignored, and how many these are.
#include "pellucid/ops/internal.h"

#include "ops/shared/loss.h"
#include "ops/shared/operands.h"
#include "ops/shared/vjp.h"
#include "tensor/make.h"

namespace pel {
namespace {

std::tuple<Tensor, Tensor> native_softmax_cross_entropy_body(const Op& op, const Tensor& self,
                                                             const Tensor& target,
                                                             std::int64_t ignore_index) {
  const std::int64_t axis = check_class_target(self, target);
  const Tensor loss = make_dense({}, self.dtype(), self.device());
  const Tensor count = make_dense({}, value_type(self.dtype()), self.device());
  launch(op, {loss, count}, {self, row_major(target)}, {Scalar(axis), Scalar(ignore_index)});
  return {loss, count};
}

}  // namespace

namespace ops {
OpDef define_native_softmax_cross_entropy() {
  return define_op<native_softmax_cross_entropy_body>(
             OpKind::Kernel,
             "native_softmax_cross_entropy(Tensor self, Tensor target, int ignore_index=-100) -> (Tensor, "
             "Tensor)")
      .dtypes(kFloating | DTypeSet{kI64, kI32})
      .vjp("self", "self target ignore_index result1",
           [](const Vjp& v) {
             return v.has_grad(0) ? internal::softmax_cross_entropy_backward(
                                        v.grad(0), v["self"], v["target"], v["result1"],
                                        v.get<std::int64_t>("ignore_index"))
                                  : Tensor();  // how many rows there are is a whole number
           })
      .samples([](Sampler& s) {
        return SampleCalls{{s({3, 4}), s.indices(4, {3})},
                           {s({2, 3, 2}), s.indices(3, {2, 2}), Dim(1)},
                           {s({4}), s.indices(4, {})}};
      });
}
}  // namespace ops

namespace internal {
std::tuple<Tensor, Tensor> native_softmax_cross_entropy(const Tensor& self, const Tensor& target,
                                                        std::int64_t ignore_index, Site site) {
  return call<"native_softmax_cross_entropy", native_softmax_cross_entropy_body>(site, self, target,
                                                                                 ignore_index);
}
}  // namespace internal

}  // namespace pel
