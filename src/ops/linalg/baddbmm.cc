// beta self + alpha (batch1 @ batch2).
#include "ops/shared/gemm.h"
#include "ops/shared/vjp.h"

namespace pel {
namespace {

Tensor baddbmm_body(const Op& op, const Tensor& self, const Tensor& batch1, const Tensor& batch2,
                    const Scalar& beta, const Scalar& alpha) {
  return run_gemm(op, 3, &self, batch1, batch2, {beta, alpha});
}

}  // namespace

namespace ops {
OpDef define_baddbmm() {
  return define_op<baddbmm_body>(
             OpKind::Kernel,
             "baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor")
      .autocast(CastRule::Lower)
      .vjp("self", "beta", [](const Vjp& v) { return scaled(v.grad(), v.get<Scalar>("beta")); })
      .vjp("batch1", "batch2 alpha",
           [](const Vjp& v) {
             return scaled(bmm(v.grad(), v["batch2"].transpose(1, 2)), v.get<Scalar>("alpha"));
           })
      .vjp("batch2", "batch1 alpha",
           [](const Vjp& v) {
             return scaled(bmm(v["batch1"].transpose(1, 2), v.grad()), v.get<Scalar>("alpha"));
           })
      .samples([](Sampler& s) {
        return SampleCalls{{s({2, 3, 2}), s({2, 3, 2}), s({2, 2, 2})},
                           {s({3, 1}), s({2, 3, 2}), s({2, 2, 2}), Scalar(0.5), Scalar(-2)}};
      });
}
}  // namespace ops

Tensor baddbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta,
               const Scalar& alpha, Site site) {
  return call<"baddbmm", baddbmm_body>(site, self, batch1, batch2, beta, alpha);
}

}  // namespace pel
