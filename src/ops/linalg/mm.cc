// Matmul of two matrices.
#include "ops/shared/gemm.h"
#include "ops/shared/vjp.h"

namespace pel {
namespace {

Tensor mm_body(const Op& op, const Tensor& self, const Tensor& mat2) {
  return run_gemm(op, 2, nullptr, self, mat2);
}

}  // namespace

namespace ops {
OpDef define_mm() {
  return define_op<mm_body>(OpKind::Kernel, "mm(Tensor self, Tensor mat2) -> Tensor")
      .autocast(CastRule::Lower)
      .vjp("self", "mat2",
           [](const Vjp& v) { return product_gradient(v.grad(), v["mat2"].t(), v.strides("self")); })
      .vjp("mat2", "self",
           [](const Vjp& v) { return product_gradient(v["self"].t(), v.grad(), v.strides("mat2")); })
      .samples([](Sampler& s) { return SampleCalls{{s({3, 4}), s({4, 2})}, {s({1, 5}), s({5, 1})}}; });
}
}  // namespace ops

Tensor mm(const Tensor& self, const Tensor& mat2, Site site) { return call<"mm", mm_body>(site, self, mat2); }

}  // namespace pel
