// A product of matrices, scaled, with something added to it.
#include "ops/family_gemm.h"

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
      "addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor");
}
}  // namespace ops

Tensor addmm(const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta,
             const Scalar& alpha, Site site) {
  return call<"addmm", addmm_body>(site, self, mat1, mat2, beta, alpha);
}

}  // namespace pel
