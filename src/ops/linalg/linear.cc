// x W^T + bias over the last axis: t, and one kernel.
#include "pellucid/ops.h"
#include "pellucid/ops/linalg.h"

#include "base/check.h"
#include "dispatch/op_table.h"
#include "tensor/make.h"

namespace pel {
namespace {

Tensor linear_body(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias) {
  PEL_CHECK(weight.dim() == 2, ShapeError, "the weight has two axes, [out, in]; {} has {}", describe(weight),
            weight.dim());
  PEL_CHECK(input.dim() >= 1, ShapeError, "the input has an axis of features; {} has none", describe(input));
  if (!bias) return matmul(input, weight.t());
  if (input.dim() == 2) return addmm(*bias, input, weight.t());
  const Dim features = input.sizes()[static_cast<std::size_t>(input.dim()) - 1];
  DimVector sizes(input.sizes());
  sizes[sizes.size() - 1] = weight.sizes()[0];
  Dim rows = 1;
  for (std::size_t i = 0; i + 1 < sizes.size(); ++i) rows = rows * sizes[i];
  return addmm(*bias, input.reshape({rows, features}), weight.t()).view(sizes);
}

}  // namespace

namespace ops {
OpDef define_linear() {
  return define_op<linear_body>(OpKind::Composite,
                                "linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor")
      .autocast(CastRule::Lower)
      .samples([](Sampler& s) {
        return SampleCalls{
            {s({2, 3}), s({4, 3})}, {s({2, 3}), s({4, 3}), s({4})}, {s({2, 2, 3}), s({2, 3}), s({2})}};
      });
}
}  // namespace ops

Tensor linear(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias, Site site) {
  return call<"linear", linear_body>(site, input, weight, bias);
}

}  // namespace pel
