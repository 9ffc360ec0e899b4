// grad / count (softmax(self) - 1 at the target), or 0 in rows whose target is ignored.
#include "pellucid/ops/internal.h"
#include "pellucid/ops/normalization.h"

#include "ops/shared/loss.h"
#include "ops/shared/operands.h"
#include "ops/shared/vjp.h"
#include "tensor/make.h"

namespace pel {
namespace {

Tensor softmax_cross_entropy_backward_body(const Op& op, const Tensor& grad, const Tensor& self,
                                           const Tensor& target, const Tensor& count,
                                           std::int64_t ignore_index) {
  const std::int64_t axis = check_class_target(self, target);
  check_saved(grad, {}, self.dtype());
  check_saved(count, {}, value_type(self.dtype()));
  const Tensor result = make_dense(self.sizes(), self.dtype(), self.device());
  launch(op, {result}, {grad, self, row_major(target), count}, {Scalar(axis), Scalar(ignore_index)});
  return result;
}

// The gradients of grad, self and count.
std::vector<Tensor> softmax_cross_entropy_second(const Vjp& v) {
  const Tensor &self = v["self"], &flow = v.grad();
  const std::int64_t axis = class_axis(self);
  const ClassTarget classes =
      class_target(self, v["target"], std::nullopt, v.get<std::int64_t>("ignore_index"));
  const Tensor ignored = classes.ignored.unsqueeze(axis), each = v["grad"] / v["count"];
  const Tensor probability = softmax(self, axis), mean = sum(flow * probability, {axis}, KeepDims::Yes);
  const Tensor to_rows = masked_fill(mean - gather(flow, axis, classes.index.unsqueeze(axis)), ignored, 0);
  const Tensor to_each = sum(to_rows);
  const Tensor rows = masked_fill(expand(each, ignored.sizes()), ignored, 0);
  return {to_each / v["count"], rows * probability * (flow - mean), -to_each * each / v["count"]};
}

}  // namespace

namespace ops {
OpDef define_softmax_cross_entropy_backward() {
  return define_op<softmax_cross_entropy_backward_body>(
             OpKind::Kernel,
             "softmax_cross_entropy_backward(Tensor grad, Tensor self, Tensor target, Tensor count, int "
             "ignore_index=-100) -> Tensor")
      .dtypes(kFloating | DTypeSet{kI64, kI32})
      .vjp("grad self count", "grad self target count ignore_index", softmax_cross_entropy_second)
      .samples([](Sampler& s) {
        return SampleCalls{{s({}), s({3, 4}), s.indices(4, {3}), s({}, 2, 4)},
                           {s({}), s({2, 3, 2}), s.indices(3, {2, 2}), s({}, 2, 4), Dim(1)}};
      });
}
}  // namespace ops

namespace internal {
Tensor softmax_cross_entropy_backward(const Tensor& grad, const Tensor& self, const Tensor& target,
                                      const Tensor& count, std::int64_t ignore_index, Site site) {
  return call<"softmax_cross_entropy_backward", softmax_cross_entropy_backward_body>(site, grad, self, target,
                                                                                     count, ignore_index);
}
}  // namespace internal

}  // namespace pel
