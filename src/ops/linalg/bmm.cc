// Batched matmul.
#include "ops/shared/gemm.h"

namespace pel {
namespace {

Tensor bmm_body(const Op& op, const Tensor& self, const Tensor& mat2) {
  return run_gemm(op, 3, nullptr, self, mat2);
}

}  // namespace

namespace ops {
OpDef define_bmm() {
  return define_op<bmm_body>(OpKind::Kernel, "bmm(Tensor self, Tensor mat2) -> Tensor")
      .autocast(CastRule::Lower)
      .vjp("self", "mat2", [](const Vjp& v) { return bmm(v.grad(), v["mat2"].transpose(1, 2)); })
      .vjp("mat2", "self", [](const Vjp& v) { return bmm(v["self"].transpose(1, 2), v.grad()); })
      .samples([](Sampler& s) { return SampleCalls{{s({2, 3, 4}), s({2, 4, 2})}}; });
}
}  // namespace ops

Tensor bmm(const Tensor& self, const Tensor& mat2, Site site) {
  return call<"bmm", bmm_body>(site, self, mat2);
}

}  // namespace pel
