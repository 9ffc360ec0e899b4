// beta self + alpha (mat1 @ mat2).
#include "ops/shared/gemm.h"
#include "ops/shared/vjp.h"

namespace pel {
namespace {

Tensor addmm_body(const Op& op, const Tensor& self, const Tensor& mat1, const Tensor& mat2,
                  const Scalar& beta, const Scalar& alpha) {
  return run_gemm(op, 2, &self, mat1, mat2, {beta, alpha});
}

}  // namespace

namespace ops {
OpDef define_addmm() {
  return define_op<addmm_body>(
             OpKind::Kernel,
             "addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor")
      .autocast(CastRule::Lower)
      .vjp("self", "beta", [](const Vjp& v) { return scaled(v.grad(), v.get<Scalar>("beta")); })
      .vjp("mat1", "mat2 alpha",
           [](const Vjp& v) {
             return scaled(product_gradient(v.grad(), v["mat2"].t(), v.strides("mat1")),
                           v.get<Scalar>("alpha"));
           })
      .vjp("mat2", "mat1 alpha",
           [](const Vjp& v) {
             return scaled(product_gradient(v["mat1"].t(), v.grad(), v.strides("mat2")),
                           v.get<Scalar>("alpha"));
           })
      .samples([](Sampler& s) {
        return SampleCalls{{s({3, 2}), s({3, 4}), s({4, 2})},
                           {s({2}), s({3, 4}), s({4, 2}), Scalar(0.5), Scalar(-2)}};
      });
}
}  // namespace ops

Tensor addmm(const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta,
             const Scalar& alpha, Site site) {
  return call<"addmm", addmm_body>(site, self, mat1, mat2, beta, alpha);
}

}  // namespace pel
