// A matrix by a vector.
#include "ops/shared/gemm.h"
#include "tensor/make.h"

namespace pel {
namespace {

Tensor mv_body(const Op& op, const Tensor& self, const Tensor& vec) {
  PEL_CHECK(vec.dim() == 1, ShapeError, "a vector has one axis; {} has {}", describe(vec), vec.dim());
  const Tensor column = make_view(vec, {vec.sizes()[0], 1}, {vec.strides()[0], 1});
  const Tensor result = run_gemm(op, 2, nullptr, self, column);
  return make_view(result, {result.sizes()[0]}, {1});
}

}  // namespace

namespace ops {
OpDef define_mv() {
  return define_op<mv_body>(OpKind::Kernel, "mv(Tensor self, Tensor vec) -> Tensor")
      .autocast(CastRule::Lower)
      .vjp("self", "vec", [](const Vjp& v) { return outer(v.grad(), v["vec"]); })
      .vjp("vec", "self", [](const Vjp& v) { return mv(v["self"].t(), v.grad()); })
      .samples([](Sampler& s) { return SampleCalls{{s({3, 4}), s({4})}}; });
}
}  // namespace ops

Tensor mv(const Tensor& self, const Tensor& vec, Site site) { return call<"mv", mv_body>(site, self, vec); }

}  // namespace pel
