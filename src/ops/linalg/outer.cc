// The outer product of two vectors.
#include "pellucid/ops/pointwise.h"

#include "ops/shared/gemm.h"
#include "tensor/make.h"

namespace pel {
namespace {

Tensor outer_body(const Tensor& self, const Tensor& vec2) {
  for (const Tensor* t : {&self, &vec2})
    PEL_CHECK(t->dim() == 1, ShapeError, "a vector has one axis; {} has {}", describe(*t), t->dim());
  return mul(self.unsqueeze(1), vec2);
}

}  // namespace

namespace ops {
OpDef define_outer() {
  return define_op<outer_body>(OpKind::Composite, "outer(Tensor self, Tensor vec2) -> Tensor")
      .samples([](Sampler& s) { return SampleCalls{{s({3}), s({4})}}; });
}
}  // namespace ops

Tensor outer(const Tensor& self, const Tensor& vec2, Site site) {
  return call<"outer", outer_body>(site, self, vec2);
}

}  // namespace pel
